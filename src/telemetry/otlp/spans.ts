/**
 * Spans of requests, work and calls. The span at hand is kept by the asynchronous context, so that a provider
 * call belongs to the request or the sync that made it. Nothing is taken from or given to other services: a
 * provider gets no trace id, and a caller's is not trusted.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import {
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type TracerProvider,
  trace,
} from '@opentelemetry/api'
import type { Clock } from '#kernel/time.ts'
import { noTracing, type SpanFacts, type Tracing } from '../tracing.ts'

/** Spans of requests and of the work in them; without a provider nothing is traced. */
export function makeSpans(provider: TracerProvider | null, clock: Clock): Omit<Tracing, 'close'> {
  if (provider === null) return noTracing
  const tracer = provider.getTracer('tributary')
  const atHand = new AsyncLocalStorage<Span>()

  return {
    serve: (handler) => (request, response) => {
      const method = request.method ?? 'GET'
      const attributes = { 'http.request.method': method }
      const started = { kind: SpanKind.SERVER, attributes, startTime: clock.now() }
      const span = tracer.startSpan(method, started, ROOT_CONTEXT)
      response.once('close', () => {
        span.setAttribute('http.response.status_code', response.statusCode)
        span.end(clock.now())
      })
      atHand.run(span, () => handler(request, response))
    },
    async within(name, work) {
      const started = { kind: SpanKind.INTERNAL, startTime: clock.now() }
      const span = tracer.startSpan(name, started, ROOT_CONTEXT)
      try {
        return await atHand.run(span, work)
      } finally {
        span.end(clock.now())
      }
    },
    describe(facts) {
      const span = atHand.getStore()
      span?.updateName(facts.name)
      if (span !== undefined) complete(span, facts)
    },
    record({ kind, durationMs, ...facts }) {
      const parent = atHand.getStore()
      const context = parent === undefined ? ROOT_CONTEXT : trace.setSpan(ROOT_CONTEXT, parent)
      const ended = clock.now()
      const span = tracer.startSpan(
        facts.name,
        {
          kind: kind === 'client' ? SpanKind.CLIENT : SpanKind.INTERNAL,
          startTime: ended - durationMs,
        },
        context,
      )
      complete(span, facts)
      span.end(ended)
    },
  }
}

function complete(span: Span, { attributes, failure }: SpanFacts): void {
  span.setAttributes({ ...attributes, ...(failure === null ? {} : { 'error.type': failure }) })
  if (failure !== null) span.setStatus({ code: SpanStatusCode.ERROR })
}
