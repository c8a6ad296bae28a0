"""What a function pays for when it imports the adapters."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]

PROGRAM = """
import sys
import a2a_serverless.aws.task_table, a2a_serverless.aws.push_table, a2a_serverless.aws.sealing
import a2a_serverless.aws.clients, a2a_serverless.aws.callback_table, a2a_serverless.aws.signing_keys
clients = a2a_serverless.aws.clients.Clients()
clients.dynamodb, clients.kms
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""


def test_the_adapters_of_the_api_load_nothing_heavy() -> None:
    env = {
        "PYTHONPATH": str(ROOT / "shared"),
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
    }

    ran = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, check=True)

    loaded = set(ran.stdout.split())
    assert "botocore" in loaded
    assert not loaded & {"boto3", "s3transfer", "asyncio", "cryptography", "jwt", "aws_xray_sdk", "starlette", "a2a"}
