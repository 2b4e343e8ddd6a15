/**
 * Doors that are loaded at the first request for them. Requests that come meanwhile wait for them. When they
 * cannot be loaded, those are answered 503 and the next request tries again.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { apiError } from '#contract/errors.ts'
import { lazily } from '#kernel/lazily.ts'
import { requestIdOf } from '../client.ts'
import { answerError } from '../json-answer.ts'
import type { RequestHandler } from './listener.ts'

export interface LateDoors {
  readonly serve: RequestHandler
  close(): Promise<void>
}

/** A door that knows its requests by method and path, so that it needs no router. */
export interface DirectDoor {
  /** `path` is without its query. */
  owns(method: string | undefined, path: string): boolean
  open(): Promise<LateDoors>
}

/** `close` is to be called once the listener is drained. */
export function makeLateRouter(
  open: () => Promise<LateDoors>,
  onFailure: (error: unknown) => void,
): LateDoors {
  let doors: LateDoors | null = null
  let isClosing = false
  const load = lazily(async () => {
    const opened = await open().catch((error: unknown) => {
      // Once, however many requests wait.
      onFailure(error)
      throw error
    })
    // The requests that waited have been aborted, and nothing else closes them.
    if (isClosing) await opened.close()
    doors = opened
    return opened
  })
  return {
    serve(request, response) {
      if (doors !== null) return doors.serve(request, response)
      load().then(
        ({ serve }) => serve(request, response),
        () => answerFailedLoad(request, response),
      )
    },
    async close() {
      isClosing = true
      await doors?.close()
    },
  }
}

/** An upgrade ends with a restart soon. */
const loadRetrySeconds = 5

/** The door could not be loaded: its files were replaced, perhaps, and a restart loads the new ones. */
function answerFailedLoad(request: IncomingMessage, response: ServerResponse): void {
  const error = apiError('service_unavailable', { retryAfterSeconds: loadRetrySeconds })
  response.shouldKeepAlive = false
  answerError(response, error, { 'X-Request-Id': requestIdOf(request) })
}
