{
  description = "Sort anything bigger than memory, at the speed of the drives";

  inputs = {
    nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";
    source = {
      url = "@REPOSITORY@/archive/refs/tags/v@VERSION@.tar.gz";
      flake = false;
    };
  };

  outputs =
    {
      self,
      nixpkgs,
      source,
    }:
    let
      systems = [
        "x86_64-linux"
        "aarch64-linux"
      ];
      each = make: nixpkgs.lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});
    in
    {
      packages = each (pkgs: {
        default = pkgs.rustPlatform.buildRustPackage {
          pname = "xsort";
          version = "@VERSION@";
          src = source;
          cargoLock.lockFile = "${source}/Cargo.lock";
          cargoBuildFlags = [
            "-p"
            "xsort-cli"
          ];
          # The tests need GNU's programs, drives and minutes: `make test` of a clone runs them.
          doCheck = false;
          nativeBuildInputs = [ pkgs.installShellFiles ];
          postInstall = ''
            $out/bin/xsort man man && installManPage man/*.1
            installShellCompletion --cmd xsort \
              --bash <($out/bin/xsort completions bash) \
              --zsh <($out/bin/xsort completions zsh) \
              --fish <($out/bin/xsort completions fish)
          '';
          meta.mainProgram = "xsort";
        };
      });
    };
}
