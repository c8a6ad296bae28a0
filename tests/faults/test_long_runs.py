"""A run of many minutes keeps its task: nobody takes over what is alive, however often its message comes."""

from datetime import timedelta

from .world import Present, World


def test_a_healthy_run_of_many_minutes_is_never_taken_over(present: Present) -> None:
    world = present.world = World()
    task = world.partner.send("toil", hook=True)["id"]

    world.wait_until(lambda: world.partner.knows(task, "COMPLETED"), within=timedelta(minutes=20))

    assert [attempt for _, _, attempt in world.ledger.began] == [1]
    assert world.heads()[task].fence == 1
    assert world.invoked["run_turn"] == 1
    assert not world.turns.messages


def test_its_message_may_come_again_at_any_time(present: Present) -> None:
    world = present.world = World()

    def again(_task: str) -> None:
        world.sqs.send(QueueUrl="turns", MessageBody=world.turns.messages[0].body)

    world.ledger.at_work.extend([again] * 6)
    task = world.partner.send("toil", hook=True)["id"]

    world.wait_until(lambda: world.partner.knows(task, "COMPLETED"), within=timedelta(minutes=20))
    world.drain()

    assert not world.ledger.at_work
    assert world.invoked["run_turn"] > 6
    assert [attempt for _, _, attempt in world.ledger.began] == [1]
    assert not world.turns.messages
    assert not world.turns.dead
    assert not world.turns_dead.messages
