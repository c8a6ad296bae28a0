"""What DynamoDB is asked: no more than is needed, and nothing that it refuses."""

from typing import Any

from a2a_serverless.aws.table import Condition, Question, Table

OF_THE_OWNER = Condition("#owner = :owner", {":owner": {"S": "me"}})
NAMED = Question(where=OF_THE_OWNER, index="by_owner", names=("listed", "state"))


class Asked:
    """A client that has nothing, and keeps what it was asked."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []

    def query(self, **request: Any) -> dict[str, Any]:
        self.requests.append(request)
        return {"Items": [], "Count": 3}


def test_attributes_that_are_named_are_all_that_is_answered() -> None:
    asked: Any = Asked()

    Table(asked, "tasks").query(NAMED)

    (request,) = asked.requests
    assert request["ProjectionExpression"] == "#listed, #state"
    assert request["ExpressionAttributeNames"] == {"#owner": "owner", "#listed": "listed", "#state": "state"}


def test_a_count_names_no_attributes() -> None:
    """DynamoDB refuses a projection with `Select=COUNT`, and a name that no expression uses."""
    asked: Any = Asked()

    total = Table(asked, "tasks").count(NAMED, after={"pk": {"S": "x"}})

    (request,) = asked.requests
    assert total == 3
    assert request["Select"] == "COUNT"
    assert "ProjectionExpression" not in request
    assert request["ExpressionAttributeNames"] == {"#owner": "owner"}
