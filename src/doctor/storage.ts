/**
 * The durable store: whether it answers and accepts a write, whether its connections keep their sessions,
 * whether its schema matches this code, whether its server's clock agrees with ours, and how far a rotation
 * of the encryption key has progressed.
 */
import type { Clock } from '#kernel/time.ts'
import { StoreUnavailableError } from '#store/failure.ts'
import type { StoreCondition } from '#store/ports/inspector.ts'
import type { Store } from '#store/ports/store.ts'
import { compareClocks } from './clocks.ts'
import type { Installation } from './configuration.ts'
import { type Check, type Finding, fault, ok, warning } from './finding.ts'

interface Options {
  readonly store: Pick<Store, 'inspector'>
  readonly clock: Clock
  readonly installation: Installation
}

export function checkStore({ store, clock, installation }: Options): Check {
  return async () => {
    const asked = clock.now()
    try {
      const condition = await store.inspector.examine()
      const span = { asked, answered: clock.now() }
      return [
        describe(condition, installation),
        ...compareClocks('clock:database', 'the database server', condition.theirTimeMs, span),
      ]
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error
      return [fault('store', error.message, error.remedy ?? remedyForStore(installation))]
    }
  }
}

function describe(condition: StoreCondition, { storeDir }: Installation): Finding {
  const { engine, version, migrations, unknownMigrations, keepsSession } = condition
  const name = engine === 'sqlite' ? `SQLite ${version} in ${storeDir}` : `PostgreSQL ${version}`
  const newest = migrations.at(-1) ?? 'none'
  const message = `${name} accepts writes; ${migrations.length} migrations, the last is ${newest}`
  if (!keepsSession)
    return fault(
      'store',
      'the pooler in front of PostgreSQL changes the session between transactions or statements: processes do not hear of each other’s changes, and none will start',
      'Let it keep one for each connection (PgBouncer: pool_mode = session), or name PostgreSQL itself in DATABASE_URL',
    )
  if (unknownMigrations === 0) return ok('store', message)
  return warning(
    'store',
    `${message}; ${unknownMigrations} of them are of a newer version`,
    'Finish the upgrade: this process runs the older version',
  )
}

/** The advice when the store is unavailable. */
export function remedyForStore({ hasDatabase, storeDir }: Installation): string {
  return hasDatabase
    ? 'Check that the server of DATABASE_URL runs, is not a read-only standby, and has free disk space and connections'
    : `Check that ${storeDir} is mounted, writable and not full`
}

export function checkRows({ store }: Pick<Options, 'store'>): Check {
  return async () => {
    const damaged = await store.inspector.listDamaged()
    if (damaged.length === 0) return [ok('rows', 'no time and no status in the store is damaged')]
    return damaged.map(({ table, column, count, key, first }) =>
      fault(
        `rows:${table}.${column}`,
        `${count === 1 ? 'one value is' : `${count} values are`} none that this service writes, the first where ${key} is ${first}`,
        'Restore these values from a backup; until then a time counts as 1970, a status as `invalidated`, an endpoint as disabled. A newer version may have written them: then finish the upgrade',
      ),
    )
  }
}

/** An exact count above this adds no information. */
const enough = 1000

export function checkEncryption({ store, installation }: Omit<Options, 'clock'>): Check {
  return async () => {
    const aged = await store.inspector.countAged(enough)
    const keys = installation.encryptionKeyCount
    if (aged > 0) {
      const count = aged >= enough ? `${enough} or more` : String(aged)
      return [
        warning(
          'encryption',
          `${count} sealed rows need an older key`,
          'Keep every key in ENCRYPTION_KEY: rows are re-encrypted in the background; check the log if the number does not fall',
        ),
      ]
    }
    const rest = 'every sealed row is encrypted with the first key'
    if (keys === 1) return [ok('encryption', rest)]
    const action =
      'Once every process has the new key first, the older ones can be removed from ENCRYPTION_KEY'
    return [ok('encryption', `${rest} of ${keys}`, action)]
  }
}
