/**
 * The durable store: whether it answers and takes a write, whether its schema is this code's, whether its server's
 * clock agrees with ours, and how far a rotation of the encryption key has come.
 */
import type { Clock } from '#kernel/time.ts'
import { StoreUnavailableError } from '#store/failure.ts'
import type { Store, StoreCondition } from '#store/port.ts'
import { compareClocks } from './clocks.ts'
import type { Installation } from './configuration.ts'
import { type Check, type Finding, fault, ok, warning } from './finding.ts'

interface Parts {
  readonly store: Pick<Store, 'inspector'>
  readonly clock: Clock
  readonly installation: Installation
}

export function checkStore({ store, clock, installation }: Parts): Check {
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
      return [fault('store', error.message, mendStore(installation))]
    }
  }
}

function describe(condition: StoreCondition, { storeDir }: Installation): Finding {
  const { engine, version, migrations, unknownMigrations } = condition
  const name = engine === 'sqlite' ? `SQLite ${version} in ${storeDir}` : `PostgreSQL ${version}`
  const newest = migrations.at(-1) ?? 'none'
  const message = `${name} takes writes; ${migrations.length} migrations, the last is ${newest}`
  if (unknownMigrations === 0) return ok('store', message)
  return warning(
    'store',
    `${message}; ${unknownMigrations} of them are of a newer version`,
    'Finish the upgrade: this process runs the older version, and it will not start again on this store',
  )
}

/** What to do when the store is away. */
export function mendStore({ hasDatabase, storeDir }: Installation): string {
  return hasDatabase
    ? 'See that the server of DATABASE_URL runs, is no read-only standby, and has disk space and connections left'
    : `See that ${storeDir} is mounted, writable and not full`
}

/** Counting further tells nothing more. */
const enough = 1000

export function checkEncryption({ store, installation }: Omit<Parts, 'clock'>): Check {
  return async () => {
    const aged = await store.inspector.countAged(enough)
    const keys = installation.encryptionKeyCount
    if (aged > 0) {
      const count = aged >= enough ? `${enough} or more` : String(aged)
      return [
        warning(
          'encryption',
          `${count} sealed rows need an older key`,
          'Keep every key in ENCRYPTION_KEY: the work goes on in the background; look at the log if the number stays',
        ),
      ]
    }
    const rest = 'every sealed row is under the first key'
    if (keys === 1) return [ok('encryption', rest)]
    const action =
      'Once every process has the new key first, the older ones can be taken off ENCRYPTION_KEY'
    return [ok('encryption', `${rest} of ${keys}`, action)]
  }
}
