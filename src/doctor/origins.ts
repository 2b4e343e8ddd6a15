/**
 * The public addresses, asked from here as anybody would: whether they lead to this service. Many networks do not let
 * a machine reach its own public address, so silence is a warning; a stranger's answer is an error.
 */
import { type Check, type Finding, fault, ok, warning } from './finding.ts'

export interface PublicOrigins {
  readonly base: string
  readonly mcp: string
  readonly auth: string
}

/** A path below an origin, and what only this service says there. */
interface Question {
  readonly variable: 'BASE_URL' | 'MCP_URL' | 'AUTH_URL'
  readonly url: string
  isOurs(status: number, body: Readonly<Record<string, unknown>>): boolean
}

const patienceMs = 5000
const maxBytes = 65_536

/** What to do when an address cannot be asked from here. */
export const askFromOutside =
  'Try it from outside: if it works there, this machine only cannot reach itself; else see DNS, proxy and certificate'

export function checkOrigins(origins: () => PublicOrigins): Check {
  return (signal) => Promise.all(toQuestions(origins()).map((one) => ask(one, signal)))
}

function toQuestions({ base, mcp, auth }: PublicOrigins): readonly Question[] {
  return [
    {
      variable: 'BASE_URL',
      // Readings R3, R6: unknown paths answer the envelope without a key and are charged to nobody.
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
  const patience = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)])
  try {
    const response = await fetch(url, { redirect: 'manual', signal: patience })
    const body = await readRecord(response)
    if (isOurs(response.status, body)) return ok(name, `${new URL(url).origin} leads here`)
    return fault(
      name,
      `${url} answers ${response.status}, but not as this service does`,
      `See that ${variable} is the origin that clients use, and that the proxy passes every path on unchanged`,
    )
  } catch (error) {
    return warning(name, `${url} cannot be reached from here (${reasonOf(error)})`, askFromOutside)
  }
}

/** Empty for whatever is no JSON object, or too long to be ours. */
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
    // Somebody else's page: that it is not ours is all there is to know.
    return {}
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The code of the network or of the certificate; the message of `fetch` itself says nothing. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  if (error.name === 'TimeoutError') return `no answer within ${patienceMs / 1000} s`
  const { cause } = error
  if (!(cause instanceof Error)) return error.message
  return 'code' in cause ? String(cause.code) : cause.message
}
