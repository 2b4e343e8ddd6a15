/**
 * A whole Tributary for measuring: production settings, embedded engines, limits that count but never refuse.
 */
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type App, openApp } from '#app/app.ts'
import { hashKey, mintKey } from '#auth/keys.ts'
import { byOperator } from '#contract/actor.ts'
import type { UserId } from '#kernel/ids.ts'
import { systemClock } from '#kernel/time.ts'
import type { ProviderAccess } from '#providers/adapters.ts'
import type { Credentials } from '#providers/credentials.ts'
import { loadSecrets } from '#settings/secrets.ts'
import { readConfig } from '#src/config.ts'
import type { KeyLimits } from '#store/ports/keys.ts'
import { makeLog } from '#telemetry/log.ts'
import { makeMetrics } from '#telemetry/metrics.ts'

const uncounted = '100000000'

export interface MeasuredOptions {
  readonly access: ProviderAccess
  /** Whose consents the one user has. */
  readonly people: readonly Credentials[]
  /** Variables in addition, for example `REDIS_URL`. */
  readonly environment?: Readonly<Record<string, string>>
  /** The user of another process on the same database, who is linked already. */
  readonly known?: { readonly key: string; readonly userId: UserId }
}

/** Starts it with one Professional user who has a key and is linked to `people`. */
export async function startMeasured(options: MeasuredOptions) {
  const dataDir = await mkdtemp(join(tmpdir(), 'tributary-bench-'))
  const config = readConfig({
    PORT: '0',
    ADMIN_PORT: '0',
    DATA_DIR: dataDir,
    SANDBOX: 'true',
    // Background syncs would be measured too.
    ROLE: 'api',
    RATE_LIMIT_CHEAP: uncounted,
    RATE_LIMIT_MID: uncounted,
    RATE_LIMIT_HEAVY: uncounted,
    CONCURRENCY_HEAVY: '1000',
    ...options.environment,
  })
  const app = await openApp({
    config,
    secrets: await loadSecrets(config),
    access: options.access,
    clock: systemClock,
    log: makeLog({ level: 'info' }),
    metrics: makeMetrics(),
    checkReplies: false,
  })
  const { origins } = await app.listen()
  const { key, userId } =
    options.known ?? (await addPerson(app, 'bench@example.test', options.people))
  return { app, key, userId, port: Number(new URL(origins.base).port) }
}

/** A Professional user who has a key and is linked to `people`. */
export async function addPerson(app: App, email: string, people: readonly Credentials[]) {
  const user = await app.store.users.create({
    email,
    timezone: null,
    plan: 'professional',
    status: 'active',
    legacyUntil: null,
    grandfathered: false,
    createdAt: systemClock.now(),
  })
  if (user === 'taken') throw new Error('the store is not new')
  const key = await addKey(app, user.id)
  for (const credentials of people)
    await app.connections.linkConnections(byOperator, user.id, credentials)
  return { key, userId: user.id }
}

/** Another key of the user; without limits it sees everything. */
export async function addKey(app: App, userId: UserId, limits: Partial<KeyLimits> = {}) {
  const { key, prefix } = mintKey()
  await app.store.keys.create({
    ...{ userId, name: 'bench', prefix, hash: hashKey(key), ...limits },
    createdAt: systemClock.now(),
    expiresAt: null,
  })
  return key
}
