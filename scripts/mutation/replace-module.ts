/**
 * Loaded before a test run: lets one module be read from another file, so that a mutant is tested without touching the
 * tree. `MUTANT` is a JSON pair: the module's URL and the file that stands in for it.
 */
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

const [module, standIn] = JSON.parse(process.env.MUTANT ?? '[]') as string[]

registerHooks({
  load(url, context, next) {
    if (url !== module || standIn === undefined) return next(url, context)
    return {
      format: 'module-typescript',
      source: readFileSync(standIn, 'utf8'),
      shortCircuit: true,
    }
  },
})
