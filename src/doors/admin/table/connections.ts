/** Rows of connections and their syncs in the table of the admin API. */
import { z } from 'zod'
import { LinkInput } from '#connections/linking/link-input.ts'
import { Connection } from '#contract/resources.ts'
import { factsOf, providerNames } from '#providers/all-facts.ts'
import { type AdminCall, body, type InputField, list, providerErrors, query, time } from './call.ts'

const ConnectionDetails = z
  .strictObject({
    ...Connection.shape,
    consentExpiresAt: time.nullable(),
    lastSuccessAt: time.nullable(),
    nextSyncAt: time.nullable(),
    lastErrorAt: time.nullable(),
    lastErrorCode: z.string().nullable(),
    lastError: z.string().nullable(),
  })
  .meta({
    id: 'ConnectionDetails',
    description: 'A connection, and what operators see besides; null where it is not known.',
  })

const SyncResult = z
  .strictObject({
    syncRunId: z.uuid(),
    newCount: z.int().min(0),
    updatedCount: z.int().min(0),
    chunks: z.int().min(0),
  })
  .meta({ id: 'SyncResult', description: 'What a sync found.' })

/** A person's credentials at each provider, as its facts name them. */
const credentialFields: Readonly<Record<string, InputField>> = Object.fromEntries(
  providerNames.flatMap((provider) =>
    Object.entries(factsOf(provider).linkFields).map(([name, { flag, value, help, isSecret }]) => [
      name,
      { flag, value, help: `${provider}: ${help}`, ...(isSecret === true ? { isSecret } : {}) },
    ]),
  ),
)

export const connectionCalls = {
  linkConnections: {
    route: 'POST /admin/users/{user}/connections',
    command: 'connections link',
    summary: 'create connections for consents that exist at a provider',
    description:
      'A user has at most 500 connections and 5,000 accounts. Where an earlier link or removal at the provider is still in progress when `REQUEST_TIMEOUT_MS` is over, it answers 503 and nothing is linked.',
    input: body(LinkInput, {
      provider: { help: 'where the consent is' },
      ...credentialFields,
    }),
    status: 201,
    reply: z.strictObject({ connections: z.array(Connection) }),
    errors: ['user_not_found', 'login_taken', 'too_many_connections', ...providerErrors],
    audit: ['connections.link'],
  },
  listConnections: {
    route: 'GET /admin/users/{user}/connections',
    command: 'connections list',
    summary: 'list the connections of a user',
    description: 'The newest first.',
    reply: list(ConnectionDetails),
    errors: ['user_not_found'],
  },
  refreshConnection: {
    route: 'POST /admin/connections/{connection}/refresh',
    command: 'connections refresh',
    summary: 'refresh the state of a connection from its provider',
    description:
      'Where an earlier refresh of its login is still in progress when `REQUEST_TIMEOUT_MS` is over, it answers 503 and nothing is read.',
    reply: Connection,
    errors: ['connection_not_found', 'too_many_connections', ...providerErrors],
    audit: ['connections.refresh'],
  },
  removeConnection: {
    route: 'DELETE /admin/connections/{connection}',
    command: 'connections remove',
    summary: 'end the consent and delete the connection',
    description:
      'Where the provider has not ended the consent after `REQUEST_TIMEOUT_MS`, it answers 204 with the status `deleting`, and the end goes on.',
    replyHeaders: {
      'X-Connection-Status': '`deleting` while its provider has not ended the consent.',
    },
    input: query(
      // Strict, so that a slip does not leave a consent at the provider in silence.
      z.strictObject({
        atProvider: z.enum(['true', 'false'], 'must be true or false, given once').optional(),
      }),
      {
        atProvider: {
          help: 'the consent behind a person’s own key ends there too, not only here',
        },
      },
    ),
    reply: null,
    errors: ['connection_not_found'],
    audit: ['connections.remove'],
  },
  syncConnection: {
    route: 'POST /admin/connections/{connection}/sync',
    command: 'sync run',
    summary: 'look for new and changed rows of a connection now, and wait for the end',
    reply: SyncResult,
    errors: ['connection_not_found', 'sync_failed', 'upstream_breaker_open', ...providerErrors],
    audit: ['connections.sync'],
  },
} as const satisfies Readonly<Record<string, AdminCall>>
