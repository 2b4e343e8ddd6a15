/**
 * Resolves host names from untrusted parties: by the hosts file, then by queries to the DNS servers of the
 * machine, each look-up with its own time limit. It does not use getaddrinfo, which occupies one of the four
 * threads that all file operations and look-ups of the process share, cannot be cancelled, and takes as long
 * as the owner of the name decides (docs/decisions/0017-look-ups.md).
 */
import { type LookupAddress, lookup } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import { type HostsFile, openHostsFile } from './hosts-file.ts'

export interface ResolveOptions {
  /**
   * Names that the DNS servers answer as unknown are resolved by the system's resolver, one at a time: for an
   * operator's own network, whose search lists and other sources only the system has.
   */
  readonly asksSystem?: boolean
  /** For tests: instead of the machine's DNS servers. */
  readonly servers?: readonly string[]
  /** For tests: instead of the machine's hosts file. */
  readonly hosts?: HostsFile
  /** For tests: instead of getaddrinfo. */
  readonly system?: LookupFunction
  readonly limitMs?: number
  /** How long the second address family is waited for once the first one has addresses. */
  readonly otherFamilyMs?: number
}

/** Shorter than the time limit of the connection, so that the failure names the look-up. */
const defaultLimitMs = 4000
/** The second query waits twice as long as the first one. */
const tries = 2
const shareOfFirst = 1 / 3
/** Some DNS servers never answer AAAA queries: one family is enough then (RFC 8305 §3). */
const defaultOtherFamilyMs = 500
/** A name may have hundreds; a connection tries them one after the other. */
const maxAddresses = 16

type Found = readonly LookupAddress[]

/** It has the codes of getaddrinfo, which readers of errors expect. */
class NameError extends Error {
  readonly code: 'ENOTFOUND' | 'EAI_AGAIN'
  constructor(code: NameError['code'], hostname: string, cause?: unknown) {
    super(`${hostname} could not be resolved`, { cause })
    this.code = code
  }
}

/** A look-up for `net.connect`: addresses or an error within the limit, whatever the DNS servers do. */
export function makeResolveName(options: ResolveOptions = {}): LookupFunction {
  const { limitMs = defaultLimitMs, otherFamilyMs = defaultOtherFamilyMs } = options
  const hosts = options.hosts ?? openHostsFile()
  const askSystem = options.asksSystem === true ? makeSystemQueue(options.system ?? lookup) : null
  return (hostname, { all, family }, callback) => {
    const resolver = new Resolver({ timeout: Math.ceil(limitMs * shareOfFirst), tries })
    if (options.servers !== undefined) resolver.setServers(options.servers)
    const { promise: late, reject } = Promise.withResolvers<never>()
    const search = { hostname, resolver, hosts, askSystem, otherFamilyMs, isOver: false }
    const timer = setTimeout(() => {
      search.isOver = true
      resolver.cancel()
      reject(new NameError('EAI_AGAIN', hostname))
    }, limitMs)
    Promise.race([findAddresses(search), late])
      .finally(() => clearTimeout(timer))
      .then((found) => pick(hostname, found, Number(family ?? 0)))
      .then(
        (found) => {
          if (all === true) callback(null, found)
          else callback(null, found[0]?.address ?? '', found[0]?.family)
        },
        (error: NodeJS.ErrnoException) => callback(error, '', 0),
      )
  }
}

interface Search {
  readonly hostname: string
  readonly resolver: Resolver
  readonly hosts: HostsFile
  readonly askSystem: SystemQueue | null
  readonly otherFamilyMs: number
  /** The limit has passed. */
  isOver: boolean
}

/** No DNS server is asked for it (RFC 6761 §6.3), and not every hosts file has it. */
const loopback: Found = ['127.0.0.1', '::1'].map(toFound)

async function findAddresses(search: Search): Promise<Found> {
  const { hostname, askSystem } = search
  const listed = await search.hosts(hostname)
  if (listed.length > 0) return listed.map(toFound)
  if (/(?:^|\.)localhost\.?$/i.test(hostname)) return loopback
  if (search.isOver) throw new NameError('EAI_AGAIN', hostname)
  const answers = await askBoth(search)
  const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
  if (found.length > 0) return found.map(toFound)
  const reasons = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []))
  // What was slow here would hold a thread there.
  const isSlow = search.isOver || reasons.some(({ code }) => code === 'ETIMEOUT')
  if (askSystem !== null && !isSlow) return await askSystem(search)
  const isUnknown = reasons.every(({ code }) => unknown.has(code))
  throw new NameError(isUnknown ? 'ENOTFOUND' : 'EAI_AGAIN', hostname, reasons[0])
}

/** Both families, IPv4 first: a machine without IPv6 reaches it without a failed attempt. */
async function askBoth({ hostname, resolver, otherFamilyMs }: Search) {
  const asked = [resolver.resolve4(hostname), resolver.resolve6(hostname)]
  let timer: NodeJS.Timeout | undefined
  const wait = () => {
    timer ??= setTimeout(() => resolver.cancel(), otherFamilyMs)
  }
  for (const one of asked) one.then(wait, () => {})
  const answers = await Promise.allSettled(asked)
  clearTimeout(timer)
  return answers
}

/** The name or such an address does not exist, or it is no name. */
const unknown: ReadonlySet<unknown> = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME'])

function toFound(address: string): LookupAddress {
  return { address, family: isIP(address) }
}

function pick(hostname: string, found: Found, family: number): LookupAddress[] {
  const wanted = found.filter((one) => family === 0 || one.family === family)
  if (wanted.length === 0) throw new NameError('ENOTFOUND', hostname)
  return wanted.slice(0, maxAddresses)
}

type SystemQueue = (search: Search) => Promise<Found>

/** One look-up of the system at a time: three threads are left to the process. */
function makeSystemQueue(system: LookupFunction): SystemQueue {
  let turn: Promise<unknown> = Promise.resolve()
  return (search) => {
    const { hostname } = search
    const mine = turn.then(() => {
      if (search.isOver) throw new NameError('EAI_AGAIN', hostname)
      return new Promise<Found>((resolve, reject) => {
        system(hostname, { all: true }, (error, found) => {
          if (error === null) resolve(Array.isArray(found) ? found : [])
          else reject(error)
        })
      })
    })
    turn = mine.catch(() => {})
    return mine
  }
}
