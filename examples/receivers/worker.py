from a2a_receiver import Nudge
from a2a_receiver.credentials import ClientCredentials
from a2a_receiver.tasks import TaskClient

login = ClientCredentials("https://login.example.com/token", client_id="me", client_secret="from your vault")
tasks = TaskClient("https://agent.example.com", credentials=login)


def work(nudge: Nudge) -> None:
    fetched = tasks.fetch(nudge)  # at the nudge's version or later; raises FetchError: try again later
    print(fetched.task_id, fetched.state, fetched.task)
