/**
 * The entry of a process of the service. A start is the loading of some hundred modules, a fifth of it their
 * resolution: so the shorter way to resolve is in place before anything else is loaded.
 */
import { registerHooks } from 'node:module'
import { resolveDirectly } from '#src/direct-resolution.ts'

registerHooks({
  resolve(specifier, context, next) {
    return resolveDirectly(specifier, context.parentURL) ?? next(specifier, context)
  },
})
await import('./service.ts')
