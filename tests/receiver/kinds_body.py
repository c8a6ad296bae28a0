"""Hostile bodies under a right signature, replays, and our own trouble."""

import json
from collections.abc import Iterator

from tests.receiver.harness import Case, Sent
from tests.receiver.making import (
    AUDIENCE,
    NOW,
    TASK,
    case_of,
    good,
    hmac_request,
    sender,
    status_update,
    with_signed_body,
    word,
)


def body_cases() -> Iterator[Case]:
    right = good().body
    deep = b'{"statusUpdate":{"taskId":"%s","x":' % TASK.encode()
    for name, body in {
        "empty": b"",
        "not JSON": b"nudge",
        "single quotes": b"{'a': 1}",
        "trailing comma": right[:-1] + b",}",
        "trailing object": right + b"{}",
        "comment": right + b"//",
        "BOM": b"\xef\xbb\xbf" + right,
        "UTF-16": right.decode().encode("utf-16"),
        "not UTF-8": right.replace(b"01JDCTX", b"\xff").replace(b"ctx", b"\xff"),
        "overlong UTF-8": right.replace(b"ctx", b"\xc0\xaf"),
        "member twice": b'{"statusUpdate":{"taskId":"EVIL1"},' + right[1:],
        "task id twice": right.replace(b'{"taskId"', b'{"taskId":"EVIL1","taskId"'),
        "escaped member twice": right.replace(b'{"taskId"', b'{"task\\u0049d":"EVIL1","taskId"'),
        "NaN": right.replace(b'"ctx"', b"NaN"),
        "Infinity": right.replace(b'"ctx"', b"-Infinity"),
        "a number out of range": right.replace(b'"ctx"', b"1e999"),
        "a number too long": right.replace(b'"ctx"', b"9" * 5000),
        "nested 33 deep": deep + b"[" * 31 + b"]" * 31 + b"}}",
        "nested 20,000 deep": deep + b"[" * 20000 + b"]" * 20000 + b"}}",
        "unterminated text": right[:40],
        "a lone quote and brackets": b'"' + b"[" * 50,
        "control character in text": right.replace(b"ctx", b"c\x01x"),
        "newline in text": right.replace(b"ctx", b"c\nx"),
    }.items():
        yield case_of(f"body: {name}", 400, "json", with_signed_body(body))
    yield case_of(
        "control: body with white space around", 202, "accepted", with_signed_body(b" \r\n\t" + right + b"\n")
    )
    yield case_of(
        "control: body nested 32 deep", 202, "accepted", with_signed_body(deep + b"[" * 30 + b"]" * 30 + b"}}")
    )
    yield from _shape_cases()
    for name, body in {
        "re-indented": right.replace(b":", b": "),
        "changed state": right.replace(b"COMPLETED", b"CANCELED"),
        "newline more": right + b"\n",
        "cut": right[:-1],
        "nothing": b"",
    }.items():
        yield case_of(f"body not signed: {name}", 401, "body_hash", good().with_body(body))


def _shape_cases() -> Iterator[Case]:
    task = {"id": TASK, "kind": "task"}
    wrong: dict[str, object] = {
        "a list": [1],
        "text": "x",
        "a number": 1,
        "null": None,
        "true": True,
        "empty object": {},
        "two members": {"task": {"id": TASK}, "statusUpdate": {"taskId": TASK}},
        "a member and more": {"statusUpdate": status_update(), "jsonrpc": "2.0"},
        "an unknown member": {"update": status_update()},
        "a member in snake case": {"status_update": status_update()},
        "member is a list": {"statusUpdate": [status_update()]},
        "member is null": {"statusUpdate": None},
        "bare task without kind": {"id": TASK},
        "unknown kind": task | {"kind": "tasks"},
        "kind is a list": task | {"kind": ["task"]},
        "kind and a member": task | {"statusUpdate": status_update()},
        "task without id": {"task": {"taskId": TASK}},
        "message without task": {"message": {"messageId": "m"}},
    }
    for task_id in (..., None, "", 7, True, [TASK], {"id": TASK}, "a b", "a\n", "é", "\ud800", ".", "..", "x" * 257):
        wrong[f"task id {word(task_id)}"] = {"statusUpdate": status_update(taskId=task_id)}
    for name, value in wrong.items():
        body = json.dumps(value, separators=(",", ":")).encode()
        yield case_of(f"shape: {name}", 400, "shape", with_signed_body(body))
        # Once more where nothing but the shape can refuse it.
        yield case_of(f"shape: {name}, by HMAC", 400, "shape", hmac_request(body=body), mode="hmac")
    for name, value in {
        "task": {"task": {"id": TASK}},
        "message": {"message": {"taskId": TASK}},
        "artifactUpdate": {"artifactUpdate": {"taskId": TASK}},
        "0.3 task": task,
        "0.3 status update": {"kind": "status-update", "taskId": TASK, "final": True},
        "odd metadata": {"statusUpdate": status_update(metadata=[1], status=7, contextId={})},
    }.items():
        yield case_of(f"control: shape {name}", 202, "accepted", with_signed_body(json.dumps(value).encode()))


def replay_cases() -> Iterator[Case]:
    yield case_of("replay: exact", 202, "duplicate", good(), good())
    yield case_of("replay: a retry with its own jti", 202, "duplicate", good(), good(attempt=2))
    yield case_of("replay: an older version", 202, "stale_noop", good(), good(seq=5, message="msg_01JDMSG000"))
    yield case_of("control: a newer version", 202, "accepted", good(), good(seq=8, message="msg_01JDMSG002"))
    yield case_of(
        "replay: the same version under another id", 202, "stale_noop", good(), good(message="msg_01JDMSG002")
    )
    yield case_of("replay: unknown task", 202, "unknown_task", good(task="01JDUNKNOWN"))
    anybody = {"known_tasks": None}
    yield case_of("control: whoever's task", 202, "accepted", good(task="01JDUNKNOWN"), fx=anybody)
    yield case_of("queue down", 503, "enqueue_failed", good(), queue_down=True)
    later = Sent("POST", AUDIENCE, good().headers, good().body, NOW + 330)
    yield case_of("replay: after its time", 401, "expired", good(), later)
    tested = json.dumps({"statusUpdate": status_update(metadata={sender().extension_uri: {"test": True, "seq": "0"}})})
    yield case_of("control: a test nudge", 202, "test", with_signed_body(tested.encode()))
