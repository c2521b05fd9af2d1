// The smallest use of the installed library: its headers are found, and it links with all that it needs.
#include <dcpctl/survey.h>
#include <dcpctl/version.h>

#include <iostream>

int main(int, char** argv) {
  if (const auto catalog = dcpctl::Survey(argv[1])) {
    std::cout << dcpctl::kVersion << " " << catalog->tensors.size() << "\n";
  } else {
    std::cout << dcpctl::kVersion << " " << catalog.error().ToString() << "\n";
  }
  return 0;
}
