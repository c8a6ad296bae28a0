// How a test speaks to an official JavaScript client: see drivers/json_lines.py, which says the same for Python.
import { createInterface } from "node:readline";

/** Answer calls until standard input is closed; `connect(url, binding, token)` makes a client. */
export async function serve(connect, operations) {
  const clients = new Map();
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    const call = JSON.parse(line);
    const { url, binding, token } = call.to;
    const key = JSON.stringify([url, binding, token]);
    if (!clients.has(key)) clients.set(key, connect(url, binding, token));
    void answer(call, clients.get(key), operations[call.do]);
  }
}

async function answer(call, client, operation) {
  try {
    const answering = operation(await client, call.with);
    if (answering[Symbol.asyncIterator]) {
      for await (const event of answering) say(call, { event });
      say(call, { result: null });
    } else {
      say(call, { result: (await answering) ?? null });
    }
  } catch (error) {
    const code = error.envelopeCode ?? error.statusCode ?? error.code ?? null;
    const name = error.constructor?.name || error.name;
    say(call, { error: { type: error.name !== "Error" ? error.name : name, message: String(error.message), code } });
  }
}

function say(call, what) {
  process.stdout.write(JSON.stringify({ call: call.call, ...what }) + "\n");
}

/** A fetch that brings the token along. */
export function fetchWith(token) {
  if (!token) return fetch;
  return (url, init = {}) => {
    const headers = new Headers(init.headers);
    headers.set("Authorization", `Bearer ${token}`);
    return fetch(url, { ...init, headers });
  };
}
