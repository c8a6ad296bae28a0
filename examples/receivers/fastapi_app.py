import asyncio

from fastapi import FastAPI
from starlette.routing import Route

from a2a_receiver import Nudge, Receiver, Strict
from a2a_receiver.adapters.asgi import PushEndpoint

proof = Strict(issuer="https://agent.example.com", audience="https://me.example.com/a2a/push")
nudges: asyncio.Queue[Nudge] = asyncio.Queue()
app = FastAPI()
app.router.routes.append(Route("/a2a/push", PushEndpoint(Receiver(proof, enqueue=nudges.put))))
