/** Maps an error before or inside a page to a status and a kind of problem; the door has the text for each kind. */
import { toApiError } from '../refusal.ts'

export interface Failure {
  readonly status: number
  readonly retryAfterSeconds: number | null
  readonly problem: 'too_large' | 'not_a_form' | 'unreadable' | 'unavailable' | 'internal'
}

/** Classifies everything that can be thrown. */
export function explain(thrown: unknown): Failure {
  const code = thrown instanceof Error && 'code' in thrown ? thrown.code : null
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return refuse(413, 'too_large')
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return refuse(415, 'not_a_form')
  if (code === 'FST_ERR_CTP_INVALID_CONTENT_LENGTH') return refuse(400, 'unreadable')
  const { status, retryAfterSeconds } = toApiError(thrown)
  return { status, retryAfterSeconds, problem: status === 503 ? 'unavailable' : 'internal' }
}

function refuse(status: number, problem: Failure['problem']): Failure {
  return { status, retryAfterSeconds: null, problem }
}
