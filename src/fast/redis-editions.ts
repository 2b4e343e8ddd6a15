/**
 * The edition of each user's rows in the database: a random text in Redis that every change of the rows
 * replaces, on the server of the cached answers. A process that saw an edition before it read the rows may
 * take them for current as long as that edition stands. During a change there is none. Rows and epochs are
 * not here: the database has the truth.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type BeginChange, rowTrustMs } from '#store/ports/changes.ts'
import type { RedisLink } from './redis-link.ts'
import { replies } from './redis-reply.ts'
import type { Seal } from './redis-seal.ts'

export interface RedisEditions {
  readonly beginChange: BeginChange
  name(userId: string): string
  /** What `editionLua` compares: the edition that a caller's rows have; absent: it compares nothing. */
  known(edition: string | undefined): string
  /** An edition that was never used before. */
  make(): string
  /** Reads the reply of `editionLua`; null: the rows are being changed. */
  read(reply: readonly unknown[]): string | null
}

/** A longer absence costs one more look into the database. */
const lifeMs = 7_200_000
/** Longer than a commit takes; after that, a change whose process has died is over. */
const changeMs = 30_000
/** A process may have judged the age of its rows this much before its command reaches Redis. */
const slackMs = 500

const unchecked = '*'
/** Begins the text that stands in for the edition during a change. */
const changing = '!'
const form = /^!?[\w-]{1,64}$/

/** Returns the edition unless the caller's rows have it. `known`, `next`: Lua of theirs and a new one. */
export const editionLua = (key: string, known: string, next: string) => `
if ${known} ~= '${unchecked}' then
  local edition = own(${key}, 'GET')
  if not edition then
    edition = ${next}
    redis.call('SET', ${key}, edition, 'PX', ${lifeMs})
  end
  if edition ~= ${known} then return {${replies.unsure}, count, left, foreign, edition} end
end
`

// ARGV: the text of this change, a new edition, its life. Another change's text stays: it is not over yet.
const endLua = `
local found = redis.call('GET', KEYS[1])
if found and found ~= ARGV[1] and string.sub(found, 1, 1) == '${changing}' then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
`

export function makeRedisEditions(link: RedisLink, seal: Seal): RedisEditions {
  const end = link.script(endLua)
  const own = randomBytes(12).toString('base64url')
  let made = 0
  // A server that was restarted, or another one in its place, may have forgotten changes: what was seen there
  // is not known any more. Every edition is remembered with the number of the connection on which it was
  // seen.
  let connection = 0
  link.onEnter(() => {
    connection += 1
  })
  const name = (userId: string) => seal.name('edition', `user:{${userId}}`)

  function make(): string {
    made += 1
    return `${own}${made.toString(36)}`
  }

  /** True when every command was answered. */
  async function all(
    users: ReadonlySet<string>,
    send: (name: string) => Promise<unknown>,
  ): Promise<boolean> {
    const sent = [...users].map((userId) =>
      link.run<boolean>(
        'cache',
        () => send(name(userId)).then(() => true),
        () => false,
      ),
    )
    return (await Promise.all(sent)).every((isDone) => isDone)
  }

  return {
    name,
    make,
    known(edition) {
      if (edition === undefined) return unchecked
      const cut = edition.indexOf(' ')
      return cut !== -1 && Number(edition.slice(0, cut)) === connection
        ? edition.slice(cut + 1)
        : ''
    },
    read([, , , , found]) {
      const text = Buffer.isBuffer(found) ? found.toString('latin1') : ''
      if (!form.test(text)) throw new Error('the reply of a script has another form')
      return text.startsWith(changing) ? null : `${connection} ${text}`
    },
    async beginChange(users) {
      const change = `${changing}${make()}`
      await all(users, (key) => link.client.set(key, change, 'PX', changeMs))
      return async () => {
        const isDone = await all(users, (key) => end(key, change, make(), lifeMs))
        // Other processes may still reach Redis. Once no row is as old as this, none needs to hear of it.
        if (!isDone) await sleep(rowTrustMs + slackMs)
      }
    },
  }
}
