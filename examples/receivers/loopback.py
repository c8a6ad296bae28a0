from a2a_receiver import Strict
from a2a_receiver.tasks import TaskClient

AGENT, MINE = "http://127.0.0.1:8080", "http://127.0.0.1:9000/a2a/push"
proof = Strict(issuer=AGENT, audience=MINE, allow_loopback_http=True)
tasks = TaskClient(AGENT, allow_loopback_http=True)
