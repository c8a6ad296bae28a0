import time

from a2a_receiver import Receiver
from a2a_receiver.testing import Sender

sender = Sender(issuer="https://agent.example.com", audience="https://me.example.com/a2a/push")


def test_a_nudge_reaches_my_queue_and_no_forged_one_does():
    mine, now = [], time.time()
    receiver = Receiver(sender.strict(), enqueue=mine.append)

    assert receiver.handle(*sender.nudge("task-1", seq=7, now=now).parts, now=now).status == 202
    for name, attack in sender.attacks("task-1", now=now).items():
        assert receiver.handle(*attack.parts, now=now).status in (400, 401), name
    assert [nudge.task_id for nudge in mine] == ["task-1"]
