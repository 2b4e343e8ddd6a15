/**
 * Another process may seal with a key that `ENCRYPTION_KEY` of this one lacks: then this one ends, and a
 * value under that key is unavailable, not damaged, since damaged values are deleted, given up or linked
 * again. A process that opens nothing looks at the key columns once a minute: what it seals would end those
 * that no longer list its key.
 */
import { minuteMs } from '#kernel/time.ts'
import { StoreOpenError, StoreUnavailableError } from '../failure.ts'
import type { StoreLog } from '../log.ts'
import type { Sealer, ToLackError } from '../seal.ts'
import { findLacked, type SealedStore } from './sealed-tables.ts'

/**
 * The error for values under a key that this process lacks; the first one is reported.
 * @param keysIn where the operator keeps the keys, for messages.
 */
export function reportOnce(
  keysIn: string,
  onLacking: (error: StoreOpenError) => void,
): ToLackError {
  let isReported = false
  return (fingerprint) => {
    const isFirst = !isReported
    isReported = true
    if (isFirst) onLacking(toEnd(keysIn, fingerprint))
    return new StoreUnavailableError(
      `a sealed value needs the key ${fingerprint}, which this process does not list`,
      { remedy },
    )
  }
}

export interface KeyWatchOptions {
  readonly places: SealedStore
  readonly sealer: Sealer
  readonly toLackError: ToLackError
  readonly log: StoreLog
}

/** Looks once a minute until the returned function is called. */
export function watchKeys({ places, sealer, toLackError, log }: KeyWatchOptions): () => void {
  async function look(): Promise<void> {
    try {
      const lacked = await findLacked(places, sealer)
      if (lacked !== null) toLackError(lacked)
    } catch (error) {
      log({ level: 'error', message: 'the keys in use could not be read', error })
    }
  }
  const timer = setInterval(() => void look(), minuteMs)
  timer.unref()
  return () => clearInterval(timer)
}

const remedy =
  'Give every process the same list of keys, those that other processes use included, and start this one again (docs/operations/install.md, The encryption key)'

function toEnd(keysIn: string, fingerprint: string): StoreOpenError {
  return new StoreOpenError(
    'wrong_key',
    `${keysIn} of this process lacks the key ${fingerprint}, with which another process seals. ${remedy}`,
  )
}
