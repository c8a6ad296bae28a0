// The official JavaScript client, 0.3 line, driven as its documentation shows.
import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from "a2a-js-sdk-03/client";
import { fetchWith, serve } from "./json_lines.mjs";

async function connect(url, binding, token) {
  const options = { fetchImpl: fetchWith(token) };
  const transport = binding === "JSONRPC" ? new JsonRpcTransportFactory(options) : new RestTransportFactory(options);
  const factory = new ClientFactory({ transports: [transport], preferredTransports: [binding] });
  const card = await new DefaultAgentCardResolver().resolve(url);
  return { card, client: await factory.createFromAgentCard(card) };
}

const operations = {
  async discover({ card }) {
    const others = (card.additionalInterfaces ?? []).map((i) => [i.transport, card.protocolVersion]);
    return {
      name: card.name,
      skills: card.skills.map((skill) => skill.id),
      streaming: card.capabilities.streaming,
      push: card.capabilities.pushNotifications,
      interfaces: [[card.preferredTransport, card.protocolVersion], ...others],
    };
  },
  async send({ client }, told) {
    return event(await client.sendMessage(request(told)));
  },
  async *stream({ client }, told) {
    for await (const answer of client.sendMessageStream(request(told))) yield event(answer);
  },
  async *subscribe({ client }, told) {
    for await (const answer of client.resubscribeTask({ id: told.task })) yield event(answer);
  },
  async get({ client }, told) {
    return task(await client.getTask({ id: told.task, historyLength: told.history ?? undefined }));
  },
  async cancel({ client }, told) {
    return task(await client.cancelTask({ id: told.task }));
  },
  async "create-push"({ client }, told) {
    const wanted = { taskId: told.task, pushNotificationConfig: push(told.push) };
    return config(await client.setTaskPushNotificationConfig(wanted));
  },
  async "get-push"({ client }, told) {
    const wanted = { id: told.task, pushNotificationConfigId: told.config };
    return config(await client.getTaskPushNotificationConfig(wanted));
  },
  async "list-push"({ client }, told) {
    return (await client.listTaskPushNotificationConfig({ id: told.task })).map(config);
  },
  async "delete-push"({ client }, told) {
    await client.deleteTaskPushNotificationConfig({ id: told.task, pushNotificationConfigId: told.config });
  },
};

function request(told) {
  return {
    message: {
      kind: "message",
      messageId: told.message_id,
      role: "user",
      parts: [{ kind: "text", text: told.text }],
      ...(told.task ? { taskId: told.task } : {}),
      ...(told.context ? { contextId: told.context } : {}),
    },
    configuration: {
      blocking: !told.immediately,
      ...(told.push ? { pushNotificationConfig: push(told.push) } : {}),
    },
  };
}

function push({ url, id, token, credentials }) {
  return {
    url,
    ...(id ? { id } : {}),
    ...(token ? { token } : {}),
    ...(credentials ? { authentication: { schemes: ["Bearer"], credentials } } : {}),
  };
}

function event(found) {
  switch (found.kind) {
    case "task":
      return task(found);
    case "message":
      return { kind: "message", text: said(found) };
    case "status-update":
      return { kind: "status", task: found.taskId, ...status(found.status), final: found.final };
    default: {
      const about = { task: found.taskId, append: found.append ?? false, last: found.lastChunk ?? false };
      return { kind: "artifact", ...about, ...artifact(found.artifact) };
    }
  }
}

function task(found) {
  return {
    kind: "task",
    id: found.id,
    context: found.contextId,
    ...status(found.status),
    artifacts: (found.artifacts ?? []).map(artifact),
    history: (found.history ?? []).map((m) => [m.role, said(m)]),
  };
}

const status = (found) => ({ state: found.state, says: found.message ? said(found.message) : "" });
const texts = (of) => of.parts.filter((p) => p.kind === "text").map((p) => p.text);
const said = (found) => texts(found).join("\n");
const artifact = (found) => ({
  name: found.name ?? "",
  text: texts(found).join(""),
  data: found.parts.find((p) => p.kind === "data")?.data ?? null,
});
const config = (found) => ({
  id: found.pushNotificationConfig.id,
  task: found.taskId,
  url: found.pushNotificationConfig.url,
});

await serve(connect, operations);
