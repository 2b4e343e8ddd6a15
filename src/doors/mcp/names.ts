/**
 * The names under which the agents' door answers (MCP 2025-11-25, Streamable HTTP, Security Warning): a page whose domain
 * was pointed at this machine (DNS rebinding) sends its own name as Host or Origin, and is refused.
 */
import type { IncomingMessage } from 'node:http'
import { validateHostHeader, validateOriginHeader } from '@modelcontextprotocol/server'

export interface PublicNames {
  readonly base: string
  readonly mcp: string
  readonly auth: string
}

export interface NameCheckOptions {
  /** Asked late: with port 0 they are known once the server listens. */
  readonly origins: () => PublicNames
  /** Only this machine can reach the listener: then its loopback names count too (interfaces, HOST). */
  readonly isLoopback: boolean
}

const loopbackNames = ['localhost', '127.0.0.1', '[::1]']

/** True when Host, and Origin where there is one, are names of this server. */
export function makeNameCheck(options: NameCheckOptions): (request: IncomingMessage) => boolean {
  let known: { readonly origins: PublicNames; readonly names: string[] } | null = null

  function listNames(): string[] {
    const origins = options.origins()
    if (known?.origins !== origins) {
      const { base, mcp, auth } = origins
      const own = [base, mcp, auth].map((origin) => new URL(origin).hostname)
      known = { origins, names: options.isLoopback ? [...own, ...loopbackNames] : own }
    }
    return known.names
  }

  return ({ headers }) => {
    const names = listNames()
    return (
      validateHostHeader(headers.host ?? null, names).ok &&
      validateOriginHeader(headers.origin ?? null, names).ok
    )
  }
}
