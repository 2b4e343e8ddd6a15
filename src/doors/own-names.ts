/**
 * The names under which this server answers. A page whose domain was pointed at this machine (DNS rebinding) sends its
 * own name as Host or Origin, and a form on a foreign page its own as Origin: neither is one of ours (MCP 2025-11-25,
 * Streamable HTTP, Security Warning). What is refused, and how, is each door's business.
 */
import type { IncomingHttpHeaders } from 'node:http'

export interface PublicOrigins {
  readonly base: string
  readonly mcp: string
  readonly auth: string
}

export interface OwnNamesOptions {
  /** Asked late: with port 0 they are known once the server listens. */
  readonly origins: () => PublicOrigins
  /** Only this machine can reach the listener: then its loopback names count too (interfaces, HOST). */
  readonly isLoopback: boolean
}

/** A request, whoever reads it. */
interface Asked {
  readonly headers: IncomingHttpHeaders
}

export interface OwnNames {
  /** True when Host, without its port, is a name of this server. */
  isOwnHost(request: Asked): boolean
  /** True when the name in `origin` is one of this server, whatever its scheme and port: a local tool has its own port. */
  isOwnName(origin: string): boolean
  /** True when `origin` is a public origin of ours, or on loopback the very one that was asked. */
  isOwnOrigin(origin: string, request: Asked): boolean
}

const loopbackNames: readonly string[] = ['localhost', '127.0.0.1', '[::1]']

export function makeOwnNames({ origins, isLoopback }: OwnNamesOptions): OwnNames {
  const local: ReadonlySet<string> = new Set(isLoopback ? loopbackNames : [])
  let known: { readonly of: PublicOrigins; readonly names: ReadonlySet<string> } | null = null

  // They change at most once, when the server listens: no request reads the same URLs again.
  function isOwn(name: string): boolean {
    const of = origins()
    if (known?.of !== of) {
      const configured = [of.base, of.mcp, of.auth].map((origin) => new URL(origin).hostname)
      known = { of, names: new Set([...configured, ...local]) }
    }
    return known.names.has(name)
  }

  return {
    isOwnHost({ headers }) {
      const name = hostnameOf(headers.host)
      return name !== null && isOwn(name)
    },
    isOwnName(origin) {
      const name = URL.parse(origin)?.hostname
      return name !== undefined && isOwn(name)
    },
    isOwnOrigin(origin, { headers }) {
      const { base, mcp, auth } = origins()
      if ([base, mcp, auth].includes(origin)) return true
      const name = hostnameOf(headers.host)
      return name !== null && local.has(name) && origin === `http://${headers.host}`
    },
  }
}

/** The name in a Host header, in lower case; null when it is none. */
function hostnameOf(host: string | undefined): string | null {
  const match = /^(\[[\da-f:.]+\]|[^\s:@/?#[\]]+)(?::\d{1,5})?$/i.exec(host ?? '')
  return match?.[1]?.toLowerCase() ?? null
}
