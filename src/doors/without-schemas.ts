/**
 * For Fastify, as its `schemaController`: requests are judged by zod and answers are written by the doors, so
 * no route has a schema of Fastify's. Without this its compilers (Ajv and a serializer, 100 modules) would be
 * loaded at the first page.
 */
export const withoutSchemas = {
  compilersFactory: { buildValidator: refuse, buildSerializer: refuse },
}

/** Called for a route that has one after all; its registration fails. */
function refuse(): never {
  throw new Error('routes have no schemas of Fastify')
}
