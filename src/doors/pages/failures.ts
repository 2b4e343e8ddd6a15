/** Maps an error before or inside a page to a status and a kind of problem; the door has the texts. */
import { ApiError } from '#contract/errors.ts'
import { toApiError } from '../refusal.ts'

export interface PageFailure {
  readonly status: number
  readonly retryAfterSeconds: number | null
  readonly problem: 'too_large' | 'not_a_form' | 'unavailable' | 'internal'
}

/** Classifies everything that can be thrown. */
export function explain(thrown: unknown): PageFailure {
  const code = thrown instanceof Error && 'code' in thrown ? thrown.code : null
  if (thrown instanceof ApiError && thrown.entry === 'body_too_large') {
    return refuse(413, 'too_large')
  }
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return refuse(415, 'not_a_form')
  const { status, retryAfterSeconds } = toApiError(thrown)
  return { status, retryAfterSeconds, problem: status === 503 ? 'unavailable' : 'internal' }
}

function refuse(status: number, problem: PageFailure['problem']): PageFailure {
  return { status, retryAfterSeconds: null, problem }
}
