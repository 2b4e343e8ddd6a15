/**
 * What the public and the admin listener have in common: a node:http server on which every wait has a limit,
 * every socket is tracked from its accept on, and which closes within a given time. It knows no door.
 */
import assert from 'node:assert/strict'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { createServer } from '#kernel/node-http.ts'
import { announcesTooMuch } from './body-limits.ts'
import { type ConnectionLimits, readConnectionLimits } from './connection-limits.ts'
import { type Intake, makeIntake, type Share } from './intake.ts'
import {
  expectAnswer,
  forget,
  mayOwe,
  noneOwed,
  type OwedAnswers,
  type OwedTotal,
  owedOf,
  tidy,
} from './owed-answers.ts'
import { BodiesInFlight, hasBody, ReceivedBody, type ReceiveOptions } from './received-body.ts'
import {
  answerTunnel,
  answerUnparsed,
  mostFields,
  offersUpgrade,
  type ParseError,
  refuseHead,
  toOriginForm,
} from './unparsed-requests.ts'
import { askBeforeEach, countReads, discard } from './unparsed-rest.ts'

/** How long a listener waits for a client. */
export interface ListenerTimes {
  /** For a complete head, from the connection or from the head's first byte. */
  readonly headersMs: number
  /** For a complete request, its body included. */
  readonly requestMs: number
  /** Idle time between two requests. */
  readonly keepAliveMs: number
  /** For socket activity while an answer is awaited or written. Must be longer than any answer takes. */
  readonly silenceMs: number
  /** How often the limits of heads and requests are checked. */
  readonly checkMs: number
}

export const listenerTimes: ListenerTimes = {
  headersMs: 15_000,
  requestMs: 30_000,
  /** Longer than the idle time of common reverse proxies (60 s), so that they close first. */
  keepAliveMs: 75_000,
  silenceMs: 240_000,
  checkMs: 5000,
}
/** How many of the longest idle connections are examined to find one that can be closed. */
const looks = 64
/** How long to read from a client that still sends after its last answer, so that no reset loses it. */
const lingerMs = 1000

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void

export interface Listener {
  /** A server that passes its requests to this handler, not listening yet. All share their connections. */
  makeServer(handler: RequestHandler): Server
  /** For Fastify, which attaches it to the server that it receives. */
  readonly clientErrorHandler: (error: ParseError, socket: Socket) => void
  /** Refuses new connections; requests in flight may finish within `graceMs`, then they are aborted. */
  drain(graceMs: number): Promise<void>
}

export function makeListener(
  times: ListenerTimes = listenerTimes,
  limits: ConnectionLimits = readConnectionLimits().public,
): Listener {
  const open: Connections['open'] = new Map()
  const connections: Connections = {
    times,
    limits,
    open,
    receiver: {
      bodies: new BodiesInFlight(),
      countPart: () => connections.intake.count(),
      cutOff: (request) => cutOff(connections, request),
    },
    behind: 0,
    intake: makeIntake(open),
    areAnswersLast: false,
  }
  const servers: Server[] = []
  return {
    makeServer(handler) {
      const server = makeServer(connections, handler)
      servers.push(server)
      return server
    },
    clientErrorHandler: (error, socket) => {
      endWith(connections, socket, () => answerUnparsed(error, socket))
    },
    async drain(graceMs) {
      answerNoMore(connections)
      const running = servers.filter(({ listening }) => listening)
      if (running.length === 0) return
      const cut = setTimeout(() => {
        for (const socket of connections.open.keys()) socket.destroy()
      }, graceMs)
      await Promise.all(running.map(closeServer))
      clearTimeout(cut)
    },
  }
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeIdleConnections()
  })
}

function makeServer(connections: Connections, handler: RequestHandler): Server {
  const { times } = connections
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const connection = begin(connections, request, response)
    if (!refuseHead(request, response)) {
      request.url = toOriginForm(request.url ?? '/')
      handler(request, response)
    }
    // Complete, but behind another one: it is written when that one is.
    const isBehind = response.socket === null && !response.closed
    if (!isBehind && response.writableEnded) return
    // An error from writing to a disconnected client is not a failure of ours.
    ignoreErrors(response)
    expectAnswer(connections, connection, response)
  }
  const server = createServer(
    {
      headersTimeout: times.headersMs,
      requestTimeout: times.requestMs,
      keepAliveTimeout: times.keepAliveMs,
      connectionsCheckingInterval: times.checkMs,
      // `refuseHead` checks the header, so that the refusal is the error envelope.
      requireHostHeader: false,
      // A request without a body is complete at once: its stream has ended before the handler sees it, and
      // emits nothing.
      optimizeEmptyRequests: true,
      // An Upgrade header is ignored; the request itself is answered, as the last one of its connection
      // (`begin`).
      shouldUpgradeCallback: () => false,
    },
    answer,
  )
  // What comes behind is not kept. One more than is accepted, so that `refuseHead` sees that there are more.
  server.maxHeadersCount = mostFields + 1
  server.on('connection', (socket) => add(connections, socket))
  limitSilence(connections, server)
  // RFC 9110 §10.1.1: an unknown expectation may be ignored.
  server.on('checkExpectation', answer)
  server.on('checkContinue', (request, response) => {
    // No 100 Continue for a body that will be refused.
    if (!announcesTooMuch(request)) response.writeContinue()
    answer(request, response)
  })
  server.on('connect', ({ socket }, stream) => {
    // While a body is still expected, `stream` is a wrapper that can fail separately.
    if (stream !== socket) ignoreErrors(stream)
    stream.resume()
    endWith(connections, socket, () => answerTunnel(socket))
  })
  return server
}

/** The state of one connection. */
interface Connection extends OwedAnswers, Share {
  /** The request that is being received, or was received last. */
  latest: IncomingMessage | null
  /** Its body; null where it has none. */
  body: ReceivedBody | null
  /** Its last answer is being sent, or will be; no further request is accepted. */
  isEnding: boolean
  /** What comes after its latest request is thrown away. */
  isCutOff: boolean
}

/** The connections of one listener. */
interface Connections extends OwedTotal {
  readonly times: ListenerTimes
  readonly limits: ConnectionLimits
  /** Ordered by latest request, from the moment when half of `evictAbove` is reached. */
  readonly open: Map<Socket, Connection>
  readonly intake: Intake
  readonly receiver: ReceiveOptions
  /** While draining, every answer is the last one of its connection. */
  areAnswersLast: boolean
}

function add(connections: Connections, socket: Socket): void {
  const { open, limits } = connections
  if (open.size >= limits.evictAbove) evictIdle(connections)
  if (open.size >= limits.refuseAbove) return void socket.destroy()
  // Node removes its own error listener from a socket that it hands over (CONNECT): without ours a reset
  // would end the process.
  ignoreErrors(socket)
  const connection: Connection = {
    ...noneOwed(),
    ...connections.intake.makeShare(),
    latest: null,
    body: null,
    isEnding: false,
    isCutOff: false,
  }
  open.set(socket, connection)
  askBeforeEach(socket, () => mayBegin(connections, socket, connection))
  countReads(socket, () => connections.intake.countRead(connection))
  // Node reads a connection on after each request of it.
  socket.on('resume', () => {
    if (!connections.intake.mayRead(connection)) socket.pause()
  })
  lingerAtTheEnd(socket, connection)
  socket.once('close', () => {
    connection.body?.leave()
    close(connections, socket)
  })
}

/**
 * Whether another request is accepted. When too many came at once or are unanswered it is not, and nothing
 * behind it: the connection ends with the answers that it is owed. A client that sent more sends it again
 * (RFC 9112 §9.3.2).
 */
function mayBegin(connections: Connections, socket: Socket, connection: Connection): boolean {
  const isOpen = !connection.isEnding && !connection.isCutOff && !socket.destroyed
  const isOneMore = connections.intake.countOf(connection) && mayOwe(connections, connection)
  if (isOpen && isOneMore) return true
  connection.isCutOff = true
  const last = connection.latestOwed
  if (last !== null && !last.headersSent) last.shouldKeepAlive = false
  endWith(connections, socket, () => socket.destroySoon())
  return false
}

/** The request's body is more than is accepted: its answer is the last one of its connection. */
function cutOff(connections: Connections, request: IncomingMessage): void {
  const { socket } = request
  const connection = connections.open.get(socket)
  if (connection === undefined) return
  connection.isCutOff = true
  discard(socket)
  const response = owedOf(connection).find(({ req }) => req === request)
  if (response?.headersSent === false) response.shouldKeepAlive = false
  else endWith(connections, socket, () => socket.destroySoon())
}

function begin(
  { open, limits, receiver, areAnswersLast }: Connections,
  request: IncomingMessage,
  response: ServerResponse,
): Connection {
  const connection = open.get(request.socket)
  // `mayBegin` has accepted it.
  assert(connection !== undefined)
  connection.latest = request
  connection.body = hasBody(request) ? new ReceivedBody(request, receiver) : null
  // Else Node would parse the rest of it without bounds once the request is answered.
  if (!request.readableEnded) request.read(0)
  // Ordering starts before eviction does, so that the order is complete by then.
  if (open.size >= limits.evictAbove / 2) putLast(open, request.socket, connection)
  // Marks the last answer of a connection with `Connection: close`. A body that will not be read makes it the
  // last one too, and so does an offer to upgrade: Node drops what arrived together with it.
  if (areAnswersLast || announcesTooMuch(request) || offersUpgrade(request)) {
    response.shouldKeepAlive = false
  }
  return connection
}

/** From now on, every answer is the last one of its connection, including answers already begun. */
function answerNoMore(connections: Connections): void {
  connections.areAnswersLast = true
  for (const connection of connections.open.values()) {
    for (const response of owedOf(connection)) response.shouldKeepAlive = false
  }
}

/**
 * Writes the last answer of a connection: after the answers that earlier complete requests still wait for,
 * and never into the middle of one.
 */
function endWith({ open, times }: Connections, socket: Socket, write: () => void): void {
  const connection = open.get(socket)
  if (connection === undefined || connection.isEnding) return
  connection.isEnding = true
  const owed = owedOf(connection)
  // The request that cannot be read to its end, if its answer is not complete: this one takes its place.
  const broken = owed.find(({ req, writableEnded }) => !req.complete && !writableEnded)
  const before = owed.filter((response) => response !== broken)
  // Node's timers do not apply to a socket that was handed over.
  const cut = setTimeout(() => socket.destroy(), times.silenceMs)
  socket.once('close', () => clearTimeout(cut))
  const writeWhenDue = () => {
    if (socket.destroyed || before.some(({ closed }) => !closed)) return
    if (broken?.headersSent === true && !broken.writableEnded) socket.destroy()
    else write()
  }
  for (const response of before) response.once('close', writeWhenDue)
  writeWhenDue()
}

/**
 * One address can open as many connections as a listener holds, and send nothing on them. A real request
 * needs only a moment, so new connections are accepted and those that have been idle longest are closed.
 */
function evictIdle(connections: Connections): void {
  const { open } = connections
  let look = 0
  for (const [socket, connection] of open) {
    if (!isWorkedFor(connection)) {
      // Immediately, so that the next connection does not find this one again.
      close(connections, socket)
      return void socket.destroy()
    }
    look += 1
    if (look === looks) return
    putLast(open, socket, connection)
  }
}

function close(connections: Connections, socket: Socket): void {
  const { open } = connections
  const connection = open.get(socket)
  open.delete(socket)
  if (connection === undefined) return
  // Node does this too, but not for a socket that it handed over.
  for (const response of owedOf(connection)) response.destroy()
  forget(connections, connection)
}

function putLast(open: Connections['open'], socket: Socket, connection: Connection): void {
  open.delete(socket)
  open.set(socket, connection)
}

/**
 * True while a complete request waits for our answer. A client that is still sending, or does not read, does
 * not count.
 */
function isWorkedFor(connection: Connection): boolean {
  return owedOf(connection).some(({ req, headersSent }) => req.complete && !headersSent)
}

/**
 * A client that does not read its answer must not hold its connection without limit. Node's own timer would
 * be reset at every request, and one of ours for each waiting request would cost more than this: connections
 * with an unsent answer get their timer at the next check.
 */
function limitSilence(connections: Connections, server: Server): void {
  const { open, times } = connections
  const check = () => {
    for (const [socket, connection] of open) {
      tidy(connections, connection)
      connection.body?.check()
      // A timer that runs is left alone: setting it again would start it anew.
      if (socket.timeout === times.silenceMs) continue
      const isUnsent = socket.writableLength > 0 || owedOf(connection).length > 0
      if (isUnsent) socket.setTimeout(times.silenceMs)
    }
  }
  server.once('listening', () => {
    const checking = setInterval(check, times.checkMs)
    checking.unref()
    server.once('close', () => clearInterval(checking))
  })
}

/**
 * Node closes a connection right after its last answer; the system then resets it if bytes still arrive, and
 * the client can lose the answer.
 */
function lingerAtTheEnd(socket: Socket, connection: Connection): void {
  const destroySoon = socket.destroySoon.bind(socket)
  socket.destroySoon = () => {
    const { latest } = connection
    connection.isEnding = true
    const isWhole = latest === null || latest.complete
    if ((isWhole && !connection.isCutOff) || socket.destroyed) return destroySoon()
    if (socket.writableEnded) return
    socket.end()
    if (!connection.isCutOff) discard(socket)
    connection.isCutOff = true
    const cut = setTimeout(() => socket.destroy(), lingerMs)
    socket.once('close', () => clearTimeout(cut))
  }
}

/** A broken connection is not a failure of ours; code that waits for it listens to `close`. */
function ignoreErrors(stream: Duplex | ServerResponse): void {
  stream.on('error', ignore)
}

function ignore(): void {}
