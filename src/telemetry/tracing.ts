/**
 * What traces are made of: requests, provider calls, syncs and deliveries. No name and no attribute has an
 * id, a query string or a text of a person. Without OpenTelemetry nothing is traced (`noTracing`).
 */
import type { IncomingMessage, ServerResponse } from 'node:http'

export interface SpanFacts {
  /** One of few: an operation, a route, a kind of work. */
  readonly name: string
  readonly attributes: Readonly<Record<string, string | number>>
  /** A word for what went wrong; null: nothing did. */
  readonly failure: string | null
}

export interface EndedSpan extends SpanFacts {
  /** `client`: a call to another service. */
  readonly kind: 'client' | 'internal'
  readonly durationMs: number
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void

export interface Tracing {
  /** A handler whose requests are spans, from their head to the end of their answer. */
  serve(handler: Handler): Handler
  /** Work that is a span; what is recorded meanwhile belongs to it. */
  within<Result>(name: string, work: () => Promise<Result>): Promise<Result>
  /** Describes the span of the request or the work that this is called from. */
  describe(facts: SpanFacts): void
  /** Records what has just ended, as a part of the request or the work that it was done for. */
  record(span: EndedSpan): void
  /** Sends what is left, for a few seconds at most. */
  close(): Promise<void>
}

export const noTracing: Tracing = {
  serve: (handler) => handler,
  within: (_name, work) => work(),
  describe() {},
  record() {},
  async close() {},
}
