import os

import boto3

from a2a_receiver import Receiver, Strict
from a2a_receiver.adapters.aws_lambda import push_handler, to_queue
from a2a_receiver.stores.dynamodb import DynamoDBStore

proof = Strict(issuer="https://agent.example.com", audience="https://me.example.com/a2a/push")
store = DynamoDBStore(os.environ["TABLE"], boto3.client("dynamodb"))
enqueue = to_queue(os.environ["QUEUE"], boto3.client("sqs"))
handler = push_handler(Receiver(proof, store=store, enqueue=enqueue))
