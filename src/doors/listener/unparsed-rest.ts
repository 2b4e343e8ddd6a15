/**
 * Ends the parsing of a connection in the middle of a packet. node:http has no means for it: pausing or
 * destroying a socket ends its next reads, while up to 64 KiB that are read, thousands of requests, are
 * parsed to their end.
 */
import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

/**
 * The parser of a connection, which the types of node:http do not name.
 * `tests/request/listener/unanswered.test.ts` shows that it still works like this.
 */
interface Parser {
  readonly constructor: { readonly kOnExecute: number; readonly kOnBody: number }
  /** Called with each complete head, before there is an answer for it. */
  onIncoming: (request: IncomingMessage, keepAlive: boolean) => number
  /** By the numbers above: called with what came of each parsed read, and with each part of a body. */
  [name: number]: ((result: unknown) => void) | undefined
}

/**
 * Calls `counted` after each read of a socket, whatever was in it: a head that is not complete, or not HTTP.
 */
export function countReads(socket: Socket, counted: () => void): void {
  const { parser } = socket as Socket & { readonly parser: Parser }
  const { kOnExecute } = parser.constructor
  const parsed = parser[kOnExecute]
  assert(parsed !== undefined)
  parser[kOnExecute] = (result) => {
    counted()
    parsed(result)
  }
}

/** Call it while a part of a body is taken: later parts of the same read are parsed and dropped. */
export function passOver(socket: Socket): void {
  const { parser } = socket as Socket & { readonly parser: Parser }
  const { kOnExecute, kOnBody } = parser.constructor
  const parsed = parser[kOnExecute]
  const takePart = parser[kOnBody]
  assert(parsed !== undefined && takePart !== undefined)
  parser[kOnBody] = undefined
  parser[kOnExecute] = (result) => {
    parser[kOnBody] = takePart
    parser[kOnExecute] = parsed
    parsed(result)
  }
}

/** The parser's word for "what follows is another protocol": nothing that follows is parsed. */
const nothingFollows = 2

/** Calls `mayBegin` before each request; once it returns false, the rest of the connection is ignored. */
export function askBeforeEach(socket: Socket, mayBegin: () => boolean): void {
  const { parser } = socket as Socket & { readonly parser: Parser }
  const begin = parser.onIncoming
  parser.onIncoming = (request, keepAlive) => {
    if (mayBegin()) return begin(request, keepAlive)
    // The connection ends, so an offer to upgrade is not accepted.
    Object.assign(request, { upgrade: false })
    discard(socket)
    return nothingFollows
  }
}

/**
 * Throws away what still comes, unparsed, one read of the socket in each turn of the event loop: reading goes
 * on so that the end of the connection is noticed.
 */
export function discard(socket: Socket): void {
  socket.removeAllListeners('data')
  socket.on('data', () => {
    socket.pause()
    setImmediate(() => socket.resume())
  })
  socket.resume()
}
