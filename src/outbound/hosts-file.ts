/**
 * The machine's hosts file, as a name has it before any DNS server is asked: containers and operators name
 * machines there. It is read again when it has changed, and looked at every few seconds at most.
 */
import { readFile, stat } from 'node:fs/promises'
import { isIP } from 'node:net'

/** The addresses of a name; empty: it does not stand there. */
export type HostsFile = (hostname: string) => Promise<readonly string[]>

const maxBytes = 4 * 1024 * 1024
const lookEveryMs = 5000
const systemPath =
  process.platform === 'win32' ? 'C:\\Windows\\System32\\drivers\\etc\\hosts' : '/etc/hosts'

export function openHostsFile(path = systemPath): HostsFile {
  let names: ReadonlyMap<string, readonly string[]> = new Map()
  let mark = ''
  let lookedAt = Number.NEGATIVE_INFINITY
  let looking: Promise<void> | null = null
  async function look(): Promise<void> {
    try {
      const { mtimeMs, size } = await stat(path)
      const now = `${mtimeMs} ${size}`
      if (now !== mark)
        names = size > maxBytes ? new Map() : parseHosts(await readFile(path, 'utf8'))
      mark = now
    } catch {
      // Without the file, or without leave to read it, there are no names in it.
      names = new Map()
      mark = ''
    }
    lookedAt = performance.now()
    looking = null
  }
  return async (hostname) => {
    if (performance.now() - lookedAt > lookEveryMs) {
      looking ??= look()
      await looking
    }
    return names.get(hostname.toLowerCase()) ?? []
  }
}

function parseHosts(text: string): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>()
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/)
    if (isIP(address) === 0) continue
    for (const name of names) {
      const addresses = found.get(name.toLowerCase()) ?? []
      addresses.push(address)
      found.set(name.toLowerCase(), addresses)
    }
  }
  return found
}
