// The official JavaScript client, 1.x line, driven as its documentation shows.
import { Role, taskStateToJSON } from "a2a-js-sdk-10";
import {
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
  createAuthenticatingFetchWithRetry,
} from "a2a-js-sdk-10/client";
import { serve } from "./json_lines.mjs";

async function connect(url, binding, token) {
  const authorized = createAuthenticatingFetchWithRetry(fetch, {
    headers: async () => (token ? { Authorization: `Bearer ${token}` } : {}),
    shouldRetryWithHeaders: async () => undefined,
  });
  const options = { fetchImpl: authorized };
  const transport = binding === "JSONRPC" ? new JsonRpcTransportFactory(options) : new RestTransportFactory(options);
  const factory = new ClientFactory({ transports: [transport], preferredTransports: [binding] });
  const card = await new DefaultAgentCardResolver().resolve(url);
  return { card, client: await factory.createFromAgentCard(card) };
}

const operations = {
  async discover({ card }) {
    return {
      name: card.name,
      skills: card.skills.map((skill) => skill.id),
      streaming: card.capabilities.streaming,
      push: card.capabilities.pushNotifications,
      interfaces: card.supportedInterfaces.map((i) => [i.protocolBinding, i.protocolVersion]),
    };
  },
  async send({ client }, told) {
    const answer = await client.sendMessage(request(told));
    return "status" in answer ? task(answer) : message(answer);
  },
  async *stream({ client }, told) {
    for await (const answer of client.sendMessageStream(request(told))) yield event(answer);
  },
  async *subscribe({ client }, told) {
    for await (const answer of client.resubscribeTask({ tenant: "", id: told.task })) yield event(answer);
  },
  async get({ client }, told) {
    const historyLength = told.history ?? undefined;
    return task(await client.getTask({ tenant: "", id: told.task, historyLength }));
  },
  async cancel({ client }, told) {
    return task(await client.cancelTask({ tenant: "", id: told.task, metadata: undefined }));
  },
  async list({ client }, told) {
    const page = await client.listTasks({
      tenant: "",
      contextId: told.context,
      status: 0,
      pageSize: told.page_size,
      pageToken: told.page_token,
      statusTimestampAfter: undefined,
    });
    return { tasks: page.tasks.map(task), next: page.nextPageToken, total: page.totalSize };
  },
  async "create-push"({ client }, told) {
    return config(await client.createTaskPushNotificationConfig(push(told.push, told.task)));
  },
  async "get-push"({ client }, told) {
    const wanted = { tenant: "", taskId: told.task, id: told.config };
    return config(await client.getTaskPushNotificationConfig(wanted));
  },
  async "list-push"({ client }, told) {
    const wanted = { tenant: "", taskId: told.task, pageSize: 0, pageToken: "" };
    return (await client.listTaskPushNotificationConfig(wanted)).configs.map(config);
  },
  async "delete-push"({ client }, told) {
    await client.deleteTaskPushNotificationConfig({ tenant: "", taskId: told.task, id: told.config });
  },
};

function request(told) {
  const part = { content: { $case: "text", value: told.text }, metadata: undefined, filename: "", mediaType: "" };
  return {
    tenant: "",
    message: {
      messageId: told.message_id,
      contextId: told.context ?? "",
      taskId: told.task ?? "",
      role: Role.ROLE_USER,
      parts: [part],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    },
    configuration: {
      acceptedOutputModes: [],
      taskPushNotificationConfig: told.push ? push(told.push, "") : undefined,
      returnImmediately: told.immediately ?? false,
    },
    metadata: undefined,
  };
}

function push(told, taskId) {
  const authentication = told.credentials ? { scheme: "Bearer", credentials: told.credentials } : undefined;
  return { tenant: "", id: told.id ?? "", taskId, url: told.url, token: told.token ?? "", authentication };
}

function event({ payload }) {
  const { $case, value } = payload;
  switch ($case) {
    case "task":
      return task(value);
    case "message":
      return message(value);
    case "statusUpdate":
      return { kind: "status", task: value.taskId, ...status(value.status) };
    default: {
      const about = { task: value.taskId, append: value.append, last: value.lastChunk };
      return { kind: "artifact", ...about, ...artifact(value.artifact) };
    }
  }
}

const message = (found) => ({ kind: "message", text: said(found) });

function task(found) {
  return {
    kind: "task",
    id: found.id,
    context: found.contextId,
    ...status(found.status),
    artifacts: found.artifacts.map(artifact),
    history: found.history.map((m) => [m.role === Role.ROLE_USER ? "user" : "agent", said(m)]),
  };
}

function status(found) {
  const state = taskStateToJSON(found.state).replace("TASK_STATE_", "").toLowerCase().replaceAll("_", "-");
  return { state, says: found.message ? said(found.message) : "" };
}

const parts = (of, kind) => of.parts.filter((p) => p.content?.$case === kind).map((p) => p.content.value);
const said = (found) => parts(found, "text").join("\n");
const artifact = (found) => ({
  name: found.name,
  text: parts(found, "text").join(""),
  data: parts(found, "data")[0] ?? null,
});
const config = (found) => ({ id: found.id, task: found.taskId, url: found.url });

await serve(connect, operations);
