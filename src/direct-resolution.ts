/**
 * What an import of a module of ours, or of a package with many modules, leads to: found by its text alone,
 * without the look-ups of files and package descriptions with which the runtime begins. The answers are the
 * runtime's own for a folder without symbolic links inside; a file that does not exist fails when it is
 * loaded. For everything else the runtime is asked.
 */

const root = new URL('../', import.meta.url).href
const packages = `${root}node_modules/`
/** Packages whose modules import each other by relative paths with their endings, all of them ES modules. */
const esPackages = ['kysely', 'zod', 'oidc-provider'].map((name) => `${packages}${name}/`)
/** Names in the import map of package.json that do not lead below src, and src itself. */
const besideSrc = /^#(?:src|sandbox|tests)\//

export interface Resolution {
  readonly url: string
  readonly format: 'module' | 'module-typescript'
  readonly shortCircuit: true
}

/** Null: the runtime is to resolve it. `parent`: the address of the importing module. */
export function resolveDirectly(specifier: string, parent: string | undefined): Resolution | null {
  if (parent === undefined || !parent.startsWith(root)) return null
  const isOurs = !parent.startsWith(packages)
  if (specifier.startsWith('#')) {
    if (!isOurs) return null
    const folder = besideSrc.test(specifier) ? root : `${root}src/`
    return toOurs(folder + specifier.slice(1))
  }
  if (!/^\.\.?\//.test(specifier)) return null
  const url = new URL(specifier, parent).href
  if (isOurs) return toOurs(url)
  const isKnown = esPackages.some((folder) => parent.startsWith(folder) && url.startsWith(folder))
  return isKnown && url.endsWith('.js') ? { url, format: 'module', shortCircuit: true } : null
}

function toOurs(url: string): Resolution | null {
  return url.endsWith('.ts') ? { url, format: 'module-typescript', shortCircuit: true } : null
}
