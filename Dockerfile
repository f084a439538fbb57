# An image of one program: docker build --build-arg SERVICE=edge -t turnpike/edge .
# SERVICE is a service, `engine-simulator`, `media-simulator`, `mail-catcher`, `payments-simulator` or `operator`; deploy/images/README.md says the rest.
#
# A tag moves, a digest does not. To take up newer ones, ask the registry, for example with
# `docker buildx imagetools inspect gcr.io/distroless/cc-debian12:nonroot`, and change both: they are of the same Debian, since
# programs of the first run with libraries of the second.
ARG BUILD_IMAGE=docker.io/library/node:24-bookworm-slim@sha256:6f7b03f7c2c8e2e784dcf9295400527b9b1270fd37b7e9a7285cf83b6951452d
ARG RUNTIME_IMAGE=gcr.io/distroless/cc-debian12:nonroot@sha256:9dac0a79194e45a7da0158a9c6da57b217585af0786db3845d1f0ec1a0dd182f

FROM ${BUILD_IMAGE} AS build
WORKDIR /turnpike
COPY . .
# Installs and generates what every image needs; which Node this is matters little, the lockfile brings its own.
RUN node deploy/local/bootstrap.mjs --version
ARG SERVICE
RUN node deploy/local/bootstrap.mjs --disable-warning=ExperimentalWarning deploy/images/src/assemble.ts "$SERVICE" /out

# `--target sbom --output type=local,dest=.` writes what the image is made of, as CycloneDX.
FROM scratch AS sbom
COPY --from=build /out/sbom /

# No shell and no package manager. There is no HEALTHCHECK: Kubernetes asks /health and /ready on port 9090 itself.
FROM ${RUNTIME_IMAGE}
ARG SERVICE
ARG VERSION=dev
ARG REVISION=
ARG SOURCE=
# Options of Node that the list of services wants for this one (libs/config/src/services.ts).
ARG NODE_OPTIONS=
LABEL org.opencontainers.image.title=$SERVICE \
      org.opencontainers.image.version=$VERSION \
      org.opencontainers.image.revision=$REVISION \
      org.opencontainers.image.source=$SOURCE
COPY --from=build /out/node /
COPY --from=build /out/programs /
COPY --from=build /out/app /
USER 65532:65532
WORKDIR /app
ENV PATH=/usr/bin NODE_ENV=production BUILD_VERSION=$VERSION BUILD_REVISION=$REVISION NODE_OPTIONS=$NODE_OPTIONS
STOPSIGNAL SIGTERM
EXPOSE 8080 9090
ENTRYPOINT ["/usr/bin/node"]
CMD ["src/main.js"]
