/** The files that put Tributary on machines, read as the tools that use them would read them. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

export const root = join(import.meta.dirname, '..', '..')
export const readText = (path: string): string => readFileSync(join(root, path), 'utf8')
export const exists = (path: string): boolean => existsSync(join(root, path))

/** The operators' guide: every page of it, as one text. */
export const readGuide = (): string =>
  readdirSync(join(root, 'docs/operations'))
    .map((page) => readText(`docs/operations/${page}`))
    .join('\n')

/**
 * The flags that the starter gives to the runtime of the service; every other way to start it gives the same.
 */
export const serviceFlags: readonly string[] = JSON.parse(readText('scripts/service-flags.json'))

/** What the starter adds to the environment of the service; every other way to start it adds the same. */
export const serviceEnvironment: readonly string[] = Object.entries(
  JSON.parse(readText('scripts/service-environment.json')) as Record<string, string>,
).map(([name, value]) => `${name}=${value}`)

export interface ComposeService {
  readonly image?: string
  readonly build?: string
  readonly env_file?: string
  readonly environment: Readonly<Record<string, string>>
  readonly ports?: readonly string[]
  readonly volumes?: readonly string[]
  readonly networks:
    | readonly string[]
    | Readonly<Record<string, { readonly ipv4_address?: string } | null>>
  readonly healthcheck?: object
  readonly read_only?: boolean
  readonly cap_drop?: readonly string[]
  readonly stop_grace_period?: string
}

export interface Compose {
  readonly services: Readonly<Record<string, ComposeService>>
  readonly networks: Readonly<
    Record<
      string,
      { internal?: boolean; ipam?: { config: { subnet: string; ip_range?: string }[] } }
    >
  >
}

/** The networks that a service joins, in either spelling. */
export function networksOf({ networks }: ComposeService): readonly string[] {
  return isList(networks) ? networks : Object.keys(networks)
}

export const isList = (value: object): value is readonly string[] => Array.isArray(value)

export function readCompose(): Compose {
  return parse(readText('compose.yaml'), { merge: true }) as Compose
}

/** Every `${NAME…}` of a text; `$$` stands for a dollar of the container's own. */
export function variablesIn(text: string): string[] {
  const found = text.replaceAll('$$', '').matchAll(/\$\{([A-Z_]+)[^}]*\}/g)
  return [...new Set([...found].map(([, name = '']) => name))].sort()
}

export function interpolate(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\$\{([A-Z_]+)[^}]*\}/g, (_match, name: string) => {
    const value = values[name]
    if (value === undefined) throw new Error(`${name} has no value`)
    return value
  })
}

/** One instruction of the Dockerfile with its continued lines joined. */
export interface Instruction {
  readonly word: string
  readonly rest: string
}

export function readDockerfile(): readonly Instruction[] {
  return readText('Dockerfile')
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n\s*/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [word = '', ...rest] = line.trim().split(/\s+/)
      return { word: word.toUpperCase(), rest: rest.join(' ') }
    })
}

/** What a COPY takes from the clone: its sources and where they go; those from another stage are left out. */
export function listCopies(): readonly { readonly from: readonly string[]; readonly to: string }[] {
  return readDockerfile().flatMap(({ word, rest }) => {
    if (word !== 'COPY' || rest.startsWith('--from=')) return []
    const parts = rest.split(' ')
    return [{ from: parts.slice(0, -1), to: parts.at(-1) ?? '' }]
  })
}
