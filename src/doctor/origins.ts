/**
 * Requests the public addresses from here, like a client elsewhere, to see whether they lead to this service.
 * Many networks do not let a machine reach its own public address, so no answer is a warning; an answer of
 * another service is an error.
 */

import type { Origins } from '#contract/origins.ts'
import { isRecord } from '#kernel/json.ts'
import { type Check, type Finding, fault, ok, warning } from './finding.ts'

/** A path below an origin, and a value that only this service answers there. */
interface Question {
  readonly variable: 'BASE_URL' | 'MCP_URL' | 'AUTH_URL'
  readonly url: string
  isOurs(status: number, body: Readonly<Record<string, unknown>>): boolean
}

const deadlineMs = 5000
const maxBytes = 65_536

/** The advice when an address cannot be reached from here. */
export const originsRemedy =
  'Try it from outside: if it works there, only this machine cannot reach its own public address; else check DNS, proxy and certificate'

export function checkOrigins(origins: () => Origins): Check {
  return (signal) => Promise.all(toQuestions(origins()).map((one) => ask(one, signal)))
}

function toQuestions({ base, mcp, auth }: Origins): readonly Question[] {
  return [
    {
      variable: 'BASE_URL',
      // Unknown paths answer the error envelope without a key and count against no limit (readings R3, R6).
      url: `${base}/v1/doctor`,
      isOurs: (status, { error }) =>
        status === 404 && isRecord(error) && error.code === 'not_found',
    },
    {
      variable: 'MCP_URL',
      url: `${mcp}/.well-known/oauth-protected-resource`,
      isOurs: (status, { resource }) => status === 200 && resource === `${mcp}/mcp`,
    },
    {
      variable: 'AUTH_URL',
      url: `${auth}/.well-known/oauth-authorization-server`,
      isOurs: (status, { issuer }) => status === 200 && issuer === auth,
    },
  ]
}

async function ask({ variable, url, isOurs }: Question, signal: AbortSignal): Promise<Finding> {
  const name = `url:${variable}`
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)])
  try {
    const response = await fetch(url, { redirect: 'manual', signal: deadline })
    const body = await readRecord(response)
    if (isOurs(response.status, body))
      return ok(name, `${new URL(url).origin} leads to this service`)
    return fault(
      name,
      `${url} answers ${response.status}, and the answer is not from this service`,
      `Check that ${variable} is the origin that clients use, and that the proxy forwards every path unchanged`,
    )
  } catch (error) {
    return warning(name, `${url} cannot be reached from here (${reasonOf(error)})`, originsRemedy)
  }
}

/** Empty when the body is not a JSON object, or too long to be ours. */
async function readRecord(response: Response): Promise<Readonly<Record<string, unknown>>> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > maxBytes) return {}
    chunks.push(chunk)
  }
  try {
    const value: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'))
    return isRecord(value) ? value : {}
  } catch {
    // The answer of another service: its content does not matter.
    return {}
  }
}

/** The code of the network or certificate error; the message of `fetch` itself does not name the cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  if (error.name === 'TimeoutError') return `no answer within ${deadlineMs / 1000} s`
  const { cause } = error
  if (!(cause instanceof Error)) return error.message
  return 'code' in cause ? String(cause.code) : cause.message
}
