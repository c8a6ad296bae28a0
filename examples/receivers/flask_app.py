import queue

import flask

from a2a_receiver import Nudge, Receiver, Strict
from a2a_receiver.adapters.flask import add_push_route

proof = Strict(issuer="https://agent.example.com", audience="https://me.example.com/a2a/push")
nudges: queue.Queue[Nudge] = queue.Queue()
app = flask.Flask(__name__)
add_push_route(app, "/a2a/push", Receiver(proof, enqueue=nudges.put))
