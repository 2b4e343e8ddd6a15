/**
 * Snapshots without bodies, or anchors, in Redis: sealed like cached answers, with their life as the expiry
 * of the key. Saving is a compare-and-set, so that a later writer does not overwrite an earlier one. A
 * value's version is the text at its start with the salt that it was sealed with, so that checking for a new
 * version costs a few bytes.
 */
import type { SharedSnapshots, SnapshotLookup, SnapshotSaving } from './port.ts'
import type { RedisLink } from './redis-link.ts'
import { type Seal, versionLength } from './redis-seal.ts'
import type { KvMetrics } from './report.ts'

export interface RedisSnapshotsOptions {
  /** Which of the two are stored: they have names of their own. */
  readonly concern: 'snapshot' | 'anchor'
  readonly link: RedisLink
  readonly seal: Seal
  readonly metrics: KvMetrics
  /** Bound of one value; larger ones stay in their process. A row takes about thirty bytes. */
  readonly maxBytes?: number
}

const defaultMaxBytes = 4 * 1024 * 1024
/** The last byte of a version. */
const versionEnd = versionLength - 1

const saveLua = `
if redis.call('GETRANGE', KEYS[1], 0, ${versionEnd}) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
`

const none = Buffer.alloc(0)

export function makeRedisSnapshots(options: RedisSnapshotsOptions): SharedSnapshots {
  const { concern, link, seal, metrics, maxBytes = defaultMaxBytes } = options
  const replace = link.script(saveLua)
  const nameOf = (key: string) =>
    concern === 'anchor' ? seal.name('anchor', key) : seal.name('snapshot', key)
  /** A prefix, so that a snapshot, an anchor and a cached answer of one name never open as each other. */
  const boundTo = (key: string) => `${concern}\0${key}`

  async function isKnown(name: string, known: string): Promise<boolean> {
    return toText(await link.client.getrangeBuffer(name, 0, versionEnd)) === known
  }

  return {
    load(key, known) {
      return link.run<SnapshotLookup>(
        'snapshots',
        async () => {
          const name = nameOf(key)
          if (known !== null && (await isKnown(name, known))) return { kind: 'same' }
          const sealed = await link.client.getBuffer(name)
          if (sealed === null) return { kind: 'none' }
          const version = versionOf(sealed)
          const opened = seal.open(boundTo(key), sealed)
          // A value that does not open is overwritten by the next save.
          if (opened === null) metrics.unreadable()
          return { kind: 'found', version, bytes: opened?.body ?? none }
        },
        () => ({ kind: 'unavailable' }),
      )
    },

    save(key, { expected, bytes, ttlMs }) {
      const lifeMs = Math.floor(ttlMs)
      if (bytes.byteLength > maxBytes || lifeMs <= 0) return { kind: 'unavailable' }
      return link.run<SnapshotSaving>(
        'snapshots',
        async () => {
          const sealed = seal.seal(boundTo(key), { body: bytes, truncated: false, lifeMs })
          const known = expected === null ? none : Buffer.from(expected, 'base64url')
          const isSaved = (await replace(nameOf(key), known, sealed, lifeMs)) === 1
          return isSaved ? { kind: 'saved', version: versionOf(sealed) } : { kind: 'conflict' }
        },
        () => ({ kind: 'unavailable' }),
      )
    },
  }
}

/** Not as UTF-8: a foreign value may have any bytes there, and must be recognised all the same. */
const versionOf = (sealed: Buffer) => toText(sealed.subarray(0, versionLength))
const toText = (version: Buffer) => version.toString('base64url')
