/**
 * Rewords errors for agents: a REST path becomes the tool of the same operation, and a reference to a
 * response header, which agents do not see, becomes the header's value. Everything else is the envelope of
 * REST (reading R28).
 */
import { type ApiError, toEnvelope } from '#contract/errors.ts'
import type { ErrorEnvelope } from '#contract/resources.ts'
import { toolOperations } from '#contract/tool-descriptions.ts'

const toolNames: ReadonlyMap<string, string> = new Map(
  toolOperations.map(({ path, name }) => [path, name]),
)

const paths = /\/v1\/[a-z]+/g

/** The envelope for an agent. A provider's message is not reworded. */
export function toAgentEnvelope(error: ApiError, requestId: string): ErrorEnvelope {
  const envelope = toEnvelope(error)
  if (error.entry === 'upstream_bad_request') return envelope
  const reword = (text: string) =>
    text
      .replace(paths, (path) => toolNames.get(path) ?? path)
      .replace('the X-Request-Id', `request ${requestId}`)
  const { message, details } = envelope.error
  return {
    error: {
      ...envelope.error,
      message: reword(message),
      ...(details === undefined ? {} : { details: details.map(reword) }),
    },
  }
}
