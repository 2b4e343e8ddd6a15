/** Ways to break the promises of the served description. */
import { type Broken, of } from './mutation.ts'

export const description: readonly Broken[] = [
  {
    check: '/openapi.json is OpenAPI 3.1 and needs no key',
    how: 'it is OpenAPI 3.0',
    mutate: of('/openapi.json', ({ body }) => {
      body.openapi = '3.0.3'
    }),
  },
  {
    check: '/doc needs no key',
    how: 'it is 401',
    mutate: (answer, { path }) => {
      answer.status = path === '/doc' ? 401 : answer.status
    },
  },
  {
    check: 'the description has the seven paths, each with GET alone',
    how: 'a path is missing',
    mutate: of('/openapi.json', ({ body }) => void delete body.paths['/v1/trades']),
  },
  {
    check: 'the description has the seven paths, each with GET alone',
    how: 'a path has POST',
    mutate: of('/openapi.json', ({ body }) => {
      body.paths['/v1/accounts'].post = {}
    }),
  },
  {
    check: 'the description has every query parameter, required where it is',
    how: 'a parameter is missing',
    mutate: of(
      '/openapi.json',
      ({ body }) => void body.paths['/v1/transactions'].get.parameters.pop(),
    ),
  },
  {
    check: 'the description has every query parameter, required where it is',
    how: 'a required parameter is optional',
    mutate: of('/openapi.json', ({ body }) => {
      body.components.parameters.ListBalancesAccountIds.required = false
    }),
  },
]
