"""The example: an agent that quotes freight, asks how to ship, and answers with structured data.

Read it as documentation: this is all that a host has to write.
"""

import re
from datetime import timedelta
from typing import Any, Final

from a2a_serverless import Agent, AgentCard, AgentProvider, AgentSkill, Turn

CARRIERS: Final = ("Maersk", "Hapag-Lloyd", "Lufthansa Cargo")
PRICE_PER_KG: Final = {"sea": 0.9, "air": 2.25}
DAYS: Final = {"sea": 24, "air": 3}
_WEIGHT: Final = re.compile(r"(\d+(?:\.\d+)?)\s*kg", re.IGNORECASE)
_PATIENCE: Final = re.compile(r"within (\d+) seconds", re.IGNORECASE)


class FreightQuotes(Agent):
    """Quotes a shipment by weight; asks whether it goes by sea or by air."""

    card = AgentCard(
        name="Freight quotes",
        description=(
            "Quotes the price and duration of palletised freight between two places. It asks whether to ship by sea or"
            " by air before it quotes, so expect a question. It quotes only: it books nothing and promises nothing."
        ),
        version="1.0.0",
        provider=AgentProvider(organization="Example Freight", url="https://freight.example.com"),
        default_output_modes=("application/json", "text/plain"),
        skills=(
            AgentSkill(
                id="quote",
                name="Quote a shipment",
                description=(
                    "Give the goods, where from, where to and the total weight in kg, in one message, such as"
                    " '3 pallets, Pune to Rotterdam, 400 kg'. You will be asked 'Sea or air?': answer with one of the"
                    " two words on the same task. The result is the artifact quote.json: carrier, mode, days, price in"
                    " EUR. Refuses dangerous goods, live animals, and shipments without a weight."
                ),
                tags=("freight", "logistics", "quote"),
                examples=(
                    "Quote 3 pallets, Pune to Rotterdam, 400 kg",
                    "What does 1 pallet of paint, Hamburg to Oslo, 250 kg cost?",
                ),
                output_modes=("application/json",),
            ),
        ),
    )

    def run(self, turn: Turn) -> None:
        """First the shipment, then the mode, then the quote."""
        if "kilograms" not in turn.state:
            return self._take_shipment(turn)
        mode = _mode(turn.message.text)
        if mode is None:
            return turn.ask("I did not understand. Sea or air?", within=timedelta(days=2))
        return self._quote(turn, mode)

    def _take_shipment(self, turn: Turn) -> None:
        text = turn.message.text
        weight = _WEIGHT.search(text)
        if "dangerous" in text.lower():
            return turn.reject("Dangerous goods are not quoted here.")
        if weight is None:
            return turn.reject("A quote needs the total weight in kg, such as '400 kg'.")
        turn.state["kilograms"] = float(weight.group(1))
        return turn.ask(
            "Sea or air? Sea adds 21 days and saves 60 %.",
            within=_patience(text),
            remind=[timedelta(hours=4)] if _patience(text) > timedelta(hours=4) else [],
        )

    def _quote(self, turn: Turn, mode: str) -> None:
        turn.working(f"asking {len(CARRIERS)} carriers")
        turn.artifact("quote.json", data=_best_quote(mode, turn.state["kilograms"]), media_type="application/json")
        turn.complete("The quote holds for 14 days.")


def _patience(text: str) -> timedelta:
    """Two days, unless the caller is in a hurry ('answer within 3 seconds')."""
    hurry = _PATIENCE.search(text)
    return timedelta(seconds=max(1, int(hurry.group(1)))) if hurry else timedelta(days=2)


def _mode(answer: str) -> str | None:
    words = set(re.findall(r"[a-z]+", answer.lower()))
    found = [mode for mode in PRICE_PER_KG if mode in words]
    return found[0] if len(found) == 1 else None


def _best_quote(mode: str, kilograms: float) -> dict[str, Any]:
    carrier = CARRIERS[2] if mode == "air" else CARRIERS[0]
    price = round(kilograms * PRICE_PER_KG[mode], 2)
    return {"carrier": carrier, "mode": mode, "days": DAYS[mode], "price": {"amount": price, "currency": "EUR"}}


agent = FreightQuotes()
