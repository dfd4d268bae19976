# The server and the operator's commands, with the Node of package-lock.json. docs/operate/production.md has its use.
#   docker build -t quarry --build-arg COMMIT=$(git rev-parse --short HEAD) .
ARG BUILDER=docker.io/library/node:24.21.0-bookworm-slim
ARG BASE=docker.io/library/debian:bookworm-20260824-slim

FROM ${BUILDER} AS build
WORKDIR /quarry
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev
# Only compilers and debuggers read these: half of the packages' size.
RUN find node_modules -type f \
      \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' -o -name CHANGELOG.md \) -delete && \
    rm -rf node_modules/node-*/include node_modules/node-*/share node_modules/effect/src node_modules/effect/ai-docs
COPY LICENSE openapi.json llms.txt llms-full.txt ./
COPY bin bin
COPY data data
COPY src src
COPY examples/providers examples/providers
COPY scripts/warmCompiledCode.ts scripts/
# The code as Node compiles it, which takes a third off each start. It is made as the user who runs it, and nobody writes it
# later: the file system may be read-only, and code must not come from a folder that the service can write.
RUN mkdir -p /empty node_modules/.cache/quarry && chown 10001:10001 node_modules/.cache/quarry
USER 10001:10001
RUN node_modules/.bin/node scripts/warmCompiledCode.ts
USER 0:0
RUN chown -R 0:0 node_modules/.cache && chmod -R a+rX node_modules/.cache && rm -r scripts

FROM ${BASE}
WORKDIR /quarry
COPY --from=build /quarry /quarry
# The embedded database is here when DATABASE_URL is not set.
COPY --from=build --chown=10001:10001 /empty /data
ARG COMMIT=
# The private listener has no password, so other containers reach it only where ADMIN_HOST says so.
ENV PATH=/quarry/bin:/quarry/node_modules/.bin:$PATH \
    HOST=0.0.0.0 PORT=3000 ADMIN_HOST=127.0.0.1 ADMIN_PORT=9464 DATA_DIR=/data \
    QUARRY_COMMIT=$COMMIT
# A number, so that Kubernetes can see that it is not root.
USER 10001:10001
VOLUME /data
EXPOSE 3000 9464
STOPSIGNAL SIGTERM
# The first start on an empty database migrates it before it is ready.
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 \
  CMD ["node", "-e", "const { ADMIN_HOST: host, ADMIN_PORT: port } = process.env; fetch(`http://${host.includes(':') ? `[${host}]` : host}:${port}/readyz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["quarry-server"]
