/**
 * The host names under which this server answers. A page whose domain was pointed at this machine (DNS
 * rebinding) sends its own name as Host or Origin, and a form on a foreign page sends its own as Origin:
 * neither is one of ours (MCP 2025-11-25, Streamable HTTP, Security Warning). Each door decides what it
 * refuses, and how.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Origins } from '#contract/origins.ts'

export interface AllowedHostsOptions {
  /** Called late: with port 0 the origins are known only after the server listens. */
  readonly origins: () => Origins
  /** Only this machine reaches the listener: loopback names count too (docs/configuration.md, Listeners). */
  readonly isLoopback: boolean
}

/** The parts of a request that are needed, for node:http and Fastify alike. */
interface Asked {
  readonly headers: IncomingHttpHeaders
}

export interface AllowedHosts {
  /** True when Host, without its port, is a name of this server. */
  isOwnHost(request: Asked): boolean
  /** True when `origin` names this server, whatever its scheme and port: a local tool has its own. */
  isOwnName(origin: string): boolean
  /** True when `origin` is a public origin of ours, or on loopback exactly the origin that was requested. */
  isOwnOrigin(origin: string, request: Asked): boolean
}

const loopbackNames: readonly string[] = ['localhost', '127.0.0.1', '[::1]']

export function makeAllowedHosts({ origins, isLoopback }: AllowedHostsOptions): AllowedHosts {
  const local: ReadonlySet<string> = new Set(isLoopback ? loopbackNames : [])
  let known: { readonly of: Origins; readonly names: ReadonlySet<string> } | null = null

  // The origins change at most once, when the server listens: their URLs are not parsed for every request.
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

/** The name in a Host header, in lower case; null when there is none. */
function hostnameOf(host: string | undefined): string | null {
  const match = /^(\[[\da-f:.]+\]|[^\s:@/?#[\]]+)(?::\d{1,5})?$/i.exec(host ?? '')
  return match?.[1]?.toLowerCase() ?? null
}
