/**
 * The Redis client as this service uses it: one deadline for all commands in flight, the commands of one turn
 * of the event loop in one write, and scripts by their digest. It knows no script and no key.
 */
import { createHash } from 'node:crypto'
import type { Duplex } from 'node:stream'
import { Command, Redis, type RedisOptions } from 'ioredis'
import { makeCommandDeadline } from './command-deadline.ts'

type WriteableStream = NonNullable<Parameters<Redis['sendCommand']>[1]>

export type ScriptArgument = string | number | Buffer

/** A Lua script. */
export interface Script {
  run(keys: readonly string[], args: readonly ScriptArgument[]): Promise<unknown>
  /** Sends the whole text, as the server needs it once. */
  evaluate(keys: readonly string[], args: readonly ScriptArgument[]): Promise<unknown>
  /** Makes the server keep the script; it may drop scripts that only `evaluate` brought. */
  load(): Promise<void>
}

/** What the commands of a turn have to send, in their order; neighbouring texts are joined. */
interface Held {
  readonly stream: Duplex
  text: string
}

/** Beyond this, held texts are sent at once. */
const maxHeldLength = 65_536

/** ioredis, with the deadline and the writes of this file. */
export class LinkedRedis extends Redis {
  readonly #deadline
  #held: Held | null = null
  /** What commands are written to instead of the socket. */
  readonly #writes = { write: (part: string | Buffer) => this.#hold(part) }

  constructor(url: string, options: RedisOptions, timeoutMs: number) {
    // The first commands are sent before this constructor continues unless it connects later.
    super(url, { ...options, replyMapping: 'legacy', lazyConnect: true })
    this.#deadline = makeCommandDeadline(timeoutMs)
    this.connect().catch(() => undefined)
  }

  override sendCommand(command: Command, stream?: WriteableStream): unknown {
    // Before it is ready, ioredis has its own order of commands, and writes them itself.
    const own = this.status === 'ready' ? (this.#writes as WriteableStream) : undefined
    const sent = super.sendCommand(command, stream ?? own)
    this.#deadline.watch(command)
    return sent
  }

  /**
   * Holds what is to be sent until the sockets of this turn were read: requests that arrive together are sent
   * together, as one text where they are texts, since a write of many parts takes longer and, with TLS, makes
   * a record of each.
   */
  #hold(part: string | Buffer): boolean {
    const { stream } = this
    if (this.#held?.stream !== stream) {
      this.#held = { stream, text: '' }
      stream.cork()
      setImmediate(() => this.#send(stream))
    }
    const held = this.#held
    if (typeof part === 'string') {
      held.text += part
      if (held.text.length > maxHeldLength) writeHeld(held)
    } else {
      writeHeld(held)
      stream.write(part)
    }
    return true
  }

  #send(stream: Duplex): void {
    const held = this.#held
    if (held?.stream === stream) {
      this.#held = null
      // Where the connection has ended, every command has failed already.
      if (stream.writable) writeHeld(held)
    }
    stream.uncork()
  }
}

function writeHeld(held: Held): void {
  if (held.text !== '') held.stream.write(held.text)
  held.text = ''
}

/** `encoding` null: texts of a reply are buffers. */
export function makeRedisScript(
  client: Redis,
  lua: string,
  encoding: 'utf8' | null = 'utf8',
): Script {
  const digest = createHash('sha1').update(lua).digest('hex')
  function send(
    name: 'eval' | 'evalsha',
    keys: readonly string[],
    args: readonly ScriptArgument[],
  ): Promise<unknown> {
    const text = name === 'eval' ? lua : digest
    const command = new Command(name, [text, String(keys.length), ...keys, ...args], {
      replyEncoding: encoding,
    })
    client.sendCommand(command)
    return command.promise
  }
  const evaluate: Script['run'] = (keys, args) => send('eval', keys, args)
  return {
    // NOSCRIPT: the server was restarted or dropped the script. It has not run: sending it again is safe.
    run: (keys, args) =>
      send('evalsha', keys, args).catch((cause: unknown) => {
        if (!(cause instanceof Error) || !cause.message.startsWith('NOSCRIPT')) throw cause
        return evaluate(keys, args)
      }),
    evaluate,
    // Some servers do not allow it; then the first use sends the text.
    load: () => client.script('LOAD', lua).then(ignore, ignore),
  }
}

function ignore(): void {}
