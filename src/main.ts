/**
 * The entry of a process of the service. A start is the loading of some hundred modules, a fifth of it their resolution:
 * so the shorter way to resolve is in place before anything else is loaded.
 */
import { registerHooks } from 'node:module'
import { resolveDirectly, resolveStatusCodes } from '#src/direct-resolution.ts'

registerHooks({
  resolve(specifier, context, next) {
    const { parentURL } = context
    return (
      resolveDirectly(specifier, parentURL) ??
      resolveStatusCodes(specifier, parentURL) ??
      next(specifier, context)
    )
  },
})
await import('./service.ts')
