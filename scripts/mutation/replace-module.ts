/**
 * Preloaded before a test run: redirects the import of one module to another file, so that a mutant is tested
 * without changing the tree. `MUTANT` is a JSON pair: the module's URL and the file that replaces it.
 */
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

const [module, replacement] = JSON.parse(process.env.MUTANT ?? '[]') as string[]

registerHooks({
  load(url, context, next) {
    if (url !== module || replacement === undefined) return next(url, context)
    return {
      format: 'module-typescript',
      source: readFileSync(replacement, 'utf8'),
      shortCircuit: true,
    }
  },
})
