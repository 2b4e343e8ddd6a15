/**
 * What a probe of Redis does: it runs the commands that fast state uses, in scripts, on a reserved key. A
 * ping or a single write would pass on a server that is full, read-only, or whose user may not run scripts.
 * This file also turns the server's errors into messages for operators.
 */
import { isCertificateRefusal } from '#store/failure.ts'
import type { KvConnection } from './port.ts'

export interface Probe {
  /** Rejects when a command that fast state needs is refused. */
  write(): Promise<void>
  /** The section `memory` of INFO. */
  readMemory(): Promise<string>
}

/** An interrupted probe leaves keys that expire after this time. */
const lifeMs = 1000

// The first refusal stops the probe; the command's name follows the server's message. A full server refuses
// only the first write of a script, so a write that needs memory comes first.
const tryLua = `
local refusal = nil
local function try(command, ...)
  if refusal then return end
  local reply = redis.pcall(command, ...)
  if type(reply) == 'table' and reply.err then
    refusal = reply
    refusal.err = reply.err .. ' (tried: ' .. command .. ')'
  end
end
local key = KEYS[1]
`

const limitsLua = `${tryLua}
try('SET', key, 1, 'PX', ${lifeMs})
try('TIME')
try('DEL', key)
try('ZADD', key, 1, 'probe')
try('ZREMRANGEBYSCORE', key, '-inf', 0)
try('ZCARD', key)
try('ZREM', key, 'probe')
try('HSET', key, 'probe', 1)
try('HGET', key, 'probe')
try('HDEL', key, 'probe')
try('SET', key, 1, 'PX', ${lifeMs})
try('GETRANGE', key, 0, 0)
try('INCRBY', key, 1)
try('INCR', key)
try('DECR', key)
try('GET', key)
try('PTTL', key)
try('PEXPIRE', key, ${lifeMs})
try('DEL', key)
return refusal or 1
`

const cacheLua = `${tryLua}
try('SET', key, 1, 'PX', ${lifeMs})
try('TIME')
try('DEL', key)
try('HSET', key, 'probe', 1)
try('HGET', key, 'probe')
try('HGETALL', key)
try('HLEN', key)
try('HDEL', key, 'probe')
try('DEL', key)
try('SET', key, 1, 'PX', ${lifeMs})
try('GET', key)
try('GETRANGE', key, 0, 1)
try('PTTL', key)
try('GETRANGE', key, 0, 0)
try('PEXPIRE', key, ${lifeMs})
try('DEL', key)
return refusal or 1
`

/** By what is stored on the connection; each script takes one key. */
export const probeScripts: Readonly<Record<KvConnection['name'], string>> = {
  limits: limitsLua,
  cache: cacheLua,
}

/** The policy by which this server evicts keys; null when it evicts none. */
export function readEviction(memory: string): string | null {
  const read = (name: string) => new RegExp(`^${name}:(\\S+)`, 'm').exec(memory)?.[1]
  const policy = read('maxmemory_policy')
  const isBounded = Number(read('maxmemory')) > 0
  return policy === undefined || policy === 'noeviction' || !isBounded ? null : policy
}

/** The cause in words for operators; for a refusal it names the missing permission. */
export function describeTrouble(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  const { message } = cause
  // A host with several addresses fails with an error that has a code and no message.
  if (message === '') return 'code' in cause ? String(cause.code) : cause.name
  const unknown = /^ERR unknown command [`']?(\w+)/i.exec(message)?.[1]
  if (unknown !== undefined)
    return `it knows no command ${unknown.toUpperCase()}: it was renamed or switched off there`
  if (isCertificateRefusal(cause))
    return `its certificate is not accepted (${message.split(';')[0]}): the host must be a name in it, and NODE_EXTRA_CA_CERTS the file of the authority that signed it`
  if (/^NOPERM.* keys? /.test(message)) return 'its user may not use our keys (tributary:*)'
  const command =
    /permissions to run the '([^']+)' command/.exec(message)?.[1] ??
    (refusedInScript.test(message) ? /\(tried: (\w+)\)/.exec(message)?.[1] : undefined)
  if (command !== undefined) return `its user may not run ${command.toUpperCase()}`
  const plain = plainWords.find(([pattern]) => pattern.test(message))
  return plain?.[1] ?? message.split('\n')[0] ?? message
}

/** Replaces messages of the client and the server that do not help an operator. */
const plainWords: readonly (readonly [RegExp, string])[] = [
  [/^Command timed out|^Stream isn't writeable/, 'it does not answer in time (timed out)'],
  [/^NOAUTH/, 'it requires a password and the URL has none'],
  [/^WRONGPASS/, 'it refuses the user or password of the URL'],
  [/DB index is out of range|invalid DB index/, 'it has no database of the number in the URL'],
  [/^Unknown RESP type/, 'the server there is not Valkey or Redis'],
]

/** The messages of several versions. */
const refusedInScript =
  /can't run this command|ACL failure in script|permissions to run|Unknown Redis command/
