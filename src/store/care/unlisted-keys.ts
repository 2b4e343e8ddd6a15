/**
 * A ciphertext may name a key that this process does not list. Either its bytes are damaged, or another
 * process seals with a key that `ENCRYPTION_KEY` of this one lacks. The key columns of the tables tell which:
 * a key that a row names there is in use. Until they were read, and for good when it is in use, the value
 * counts as unavailable, never as damaged: what is damaged is deleted, given up or linked again. A process
 * that opens nothing looks at the columns too, once a minute: what it seals would end those that no longer
 * list its key.
 */
import { minuteMs } from '#kernel/time.ts'
import { StoreOpenError, StoreUnavailableError } from '../failure.ts'
import type { StoreLog } from '../log.ts'
import type { ExplainUnlisted, Sealer } from '../seal.ts'
import { listKeys, type SealedStore, sealedTables } from './sealed-tables.ts'

export interface UnlistedKeyOptions {
  readonly places: SealedStore
  /** With the keys that are listed here. */
  readonly listed: Sealer
  /** Where the operator keeps the keys, for messages. */
  readonly keysIn: string
  readonly log: StoreLog
  /** Called once: another process seals with a key that this one lacks, so this one has to end. */
  readonly onLacking: (error: StoreOpenError) => void
  /** Monotonic milliseconds. */
  readonly elapsed?: () => number
}

/** The tables are read again when what they said is older: a row that used the key may have been deleted. */
const trustMs = minuteMs
/** Damaged bytes may name any key. */
const maxKnown = 1000

export interface KeyWatch {
  /** What the opening of a value that names an unlisted key throws; null: the value is damaged. */
  readonly explain: ExplainUnlisted
  stop(): void
}

/** Looks once a minute until it is stopped, and when a value names an unlisted key. */
export function watchKeys(options: UnlistedKeyOptions): KeyWatch {
  const { places, listed, keysIn, log, onLacking, elapsed = () => performance.now() } = options
  const damagedAt = new Map<string, number>()
  let looking = false
  let lacking = false

  /** `named`: the key that a value names. */
  async function look(named: string | null): Promise<void> {
    // One at a time: who meets another key meanwhile tries again, and asks for that one then.
    if (looking || lacking) return
    looking = true
    const at = elapsed()
    try {
      const missing = await findMissing(places, listed)
      if (missing !== null) {
        lacking = true
        onLacking(lacks(keysIn, missing))
      } else if (named !== null) {
        if (damagedAt.size >= maxKnown) damagedAt.clear()
        damagedAt.set(named, at)
      }
    } catch (error) {
      log({ level: 'error', message: 'the keys in use could not be read', error })
    } finally {
      looking = false
    }
  }
  const timer = setInterval(() => void look(null), minuteMs)
  timer.unref()
  return {
    explain(fingerprint, purpose) {
      const at = damagedAt.get(fingerprint)
      if (at === undefined || elapsed() - at > trustMs) void look(fingerprint)
      if (at !== undefined && !lacking) return null
      return new StoreUnavailableError(
        `a sealed value (${purpose}) needs the key ${fingerprint}, which this process does not list`,
        { remedy },
      )
    },
    stop: () => clearInterval(timer),
  }
}

/** A key with which rows are sealed, and which is not listed; null: there is none. */
async function findMissing(places: SealedStore, listed: Sealer): Promise<string | null> {
  for (const table of sealedTables) {
    const missing = (await listKeys(places, table)).find((key) => !listed.knows(key))
    if (missing !== undefined) return missing
  }
  return null
}

const remedy =
  'Give every process the same list of keys, those that other processes use included, and start this one again (docs/operations/install.md, The encryption key)'

function lacks(keysIn: string, fingerprint: string): StoreOpenError {
  return new StoreOpenError(
    'wrong_key',
    `${keysIn} of this process lacks the key ${fingerprint}, with which another process seals. ${remedy}`,
  )
}
