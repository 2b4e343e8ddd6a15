/**
 * The names under which the pages answer. A page whose domain was pointed at this machine (DNS rebinding) sends its own
 * name as Host, and a form on a foreign page its own as Origin: neither is one of ours.
 */
import type { FastifyRequest } from 'fastify'

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

export interface OwnNames {
  /** True when Host, without its port, is a name of this server. */
  isOwnHost(request: FastifyRequest): boolean
  /** True when `origin` is a public origin of ours, or on loopback the very one that was asked. */
  isOwnOrigin(origin: string, request: FastifyRequest): boolean
}

const loopbackNames: readonly string[] = ['localhost', '127.0.0.1', '[::1]']

export function makeOwnNames({ origins, isLoopback }: OwnNamesOptions): OwnNames {
  const configured = () => {
    const { base, mcp, auth } = origins()
    return [base, mcp, auth]
  }
  const isLoopbackName = (name: string) => isLoopback && loopbackNames.includes(name)

  return {
    isOwnHost({ headers }) {
      const name = hostnameOf(headers.host)
      if (name === null) return false
      return (
        isLoopbackName(name) || configured().some((origin) => new URL(origin).hostname === name)
      )
    },
    isOwnOrigin(origin, { headers }) {
      if (configured().includes(origin)) return true
      const name = hostnameOf(headers.host)
      return name !== null && isLoopbackName(name) && origin === `http://${headers.host}`
    },
  }
}

/** The name in a Host header, in lower case; null when it is none. */
function hostnameOf(host: string | undefined): string | null {
  const match = /^(\[[\da-f:.]+\]|[^\s:@/?#[\]]+)(?::\d{1,5})?$/i.exec(host ?? '')
  return match?.[1]?.toLowerCase() ?? null
}
