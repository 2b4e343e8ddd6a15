/**
 * Everything that is stored about a person, as one JSON file: the account, its passkeys and sessions,
 * connections with their accounts, keys, programs, endpoints, consumers, agents and the activity. It holds no
 * secret and no money: secrets are stored as hashes or sealed, and money is not stored.
 */
import { mostAgentsShown } from '#auth/oauth/port.ts'
import { toIso, toIsoOrNull } from '#kernel/time.ts'
import type { AuditRow } from '#store/ports/audit.ts'
import type { UserRow } from '#store/ports/users.ts'
import type { PagesContext } from '../context.ts'

/** Entries of the activity, the newest ones; the file says where there is more. */
export const maxActivity = 20_000
const pageRows = 500

/** The audit of a person, newest first, at most `maxActivity` entries. */
export async function readActivity(
  { store }: PagesContext,
  { id: userId }: Pick<UserRow, 'id'>,
): Promise<readonly AuditRow[]> {
  const rows: AuditRow[] = []
  while (rows.length < maxActivity) {
    const last = rows.at(-1)
    const after = last === undefined ? null : { at: last.at, id: last.id }
    const page = await store.auditLog.list({ userId, after, limit: pageRows })
    rows.push(...page)
    if (page.length < pageRows) return rows
  }
  return rows.slice(0, maxActivity)
}

/** The file's text. */
export async function writeOwnData(context: PagesContext, user: UserRow): Promise<string> {
  const activity = await readActivity(context, user)
  const data = {
    account: await describeAccount(context, user),
    connections: await describeConnections(context, user),
    ...(await describeAccess(context, user)),
    activity: activity.map(({ at, actor, action, subject }) => {
      return { at: toIso(at), actor, action, subject }
    }),
    activityIsWhole: activity.length < maxActivity,
  }
  return `${JSON.stringify(data, null, 2)}\n`
}

async function describeAccount({ store, sessions }: PagesContext, user: UserRow) {
  const hasSecondFactor = await store.secondFactors.has(user.id)
  return {
    id: user.id,
    email: user.email,
    name: user.name,
    timezone: user.timezone,
    plan: user.plan,
    createdAt: toIso(user.createdAt),
    emailConfirmedAt: toIsoOrNull(user.emailConfirmedAt),
    secondFactor: hasSecondFactor,
    passkeys: (await store.passkeys.list(user.id)).map(({ name, createdAt, lastUsedAt }) => {
      return { name, createdAt: toIso(createdAt), lastUsedAt: toIsoOrNull(lastUsedAt) }
    }),
    sessions: (await sessions.list(user.id)).map(({ agent, address, createdAt, lastSeenAt }) => {
      return { agent, address, createdAt: toIso(createdAt), lastSeenAt: toIso(lastSeenAt) }
    }),
  }
}

async function describeConnections({ store }: PagesContext, { id }: UserRow) {
  const accounts = await store.accounts.list(id)
  return (await store.connections.list(id)).map((row) => ({
    id: row.id,
    provider: row.provider,
    institutionId: row.institutionId,
    institutionName: row.institutionName,
    label: row.label,
    status: row.status,
    createdAt: toIso(row.createdAt),
    lastRefreshedAt: toIsoOrNull(row.lastRefreshedAt),
    consentExpiresAt: toIsoOrNull(row.consentExpiresAt),
    accounts: accounts
      .filter(({ connectionId }) => connectionId === row.id)
      .map(({ id: accountId, name, type, accountNumber, currency }) => {
        return { id: accountId, name, type, accountNumber, currency }
      }),
  }))
}

/** Keys, agents, programs and endpoints that can read the user's data. */
async function describeAccess({ store, agents }: PagesContext, { id }: UserRow) {
  const connected = await agents.list(id)
  return {
    keys: (await store.keys.list(id)).map((key) => ({
      id: key.id,
      name: key.name,
      prefix: key.prefix,
      createdAt: toIso(key.createdAt),
      expiresAt: toIsoOrNull(key.expiresAt),
      revokedAt: toIsoOrNull(key.revokedAt),
      lastUsedAt: toIsoOrNull(key.lastUsedAt),
    })),
    programs: (await store.programs.list(id)).map((program) => ({
      id: program.id,
      name: program.name,
      connections: program.connections,
      createdAt: toIso(program.createdAt),
      claimedAt: toIsoOrNull(program.claimedAt),
      revokedAt: toIsoOrNull(program.revokedAt),
      lastUsedAt: toIsoOrNull(program.lastUsedAt),
    })),
    endpoints: (await store.endpoints.list(id)).map((endpoint) => ({
      id: endpoint.id,
      url: endpoint.url,
      events: endpoint.events,
      skipEmpty: endpoint.skipEmpty,
      pending: endpoint.pending,
      health: endpoint.health,
      createdAt: toIso(endpoint.createdAt),
    })),
    consumers: (await store.consumers.list(id)).map((consumer) => ({
      id: consumer.id,
      name: consumer.name,
      createdAt: toIso(consumer.createdAt),
      lastAskedAt: toIso(consumer.askedAt),
    })),
    agents: connected.map((agent) => ({
      name: agent.clientName,
      host: agent.redirectHost,
      scopes: agent.scopes,
      connections: agent.connections,
      connectedAt: toIso(agent.connectedAt),
      lastUsedAt: toIsoOrNull(agent.lastUsedAt),
    })),
    agentsAreWhole: connected.length < mostAgentsShown,
  }
}
