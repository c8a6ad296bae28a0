import queue

from django.urls import path

from a2a_receiver import Nudge, Receiver, Strict
from a2a_receiver.adapters.django import push_view

proof = Strict(issuer="https://agent.example.com", audience="https://me.example.com/a2a/push")
nudges: queue.Queue[Nudge] = queue.Queue()
urlpatterns = [path("a2a/push", push_view(Receiver(proof, enqueue=nudges.put)))]
